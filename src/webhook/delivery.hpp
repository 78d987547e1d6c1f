// A delivery, what a route knows of its sender's account, and the values of a delivery.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "json/json_values.hpp"
#include "webhook/encodings.hpp"
#include "webhook/pattern.hpp"

namespace onceguard::webhook {

struct delivery {
  std::span<const base::field> fields;  ///< the header
  std::string_view body;
  std::int64_t now = 0;       ///< seconds since 1970
  std::string_view target{};  ///< of the request line: path and query, or a URL
};

struct delivery_value {
  bool is_clear = true;  ///< false: it is there twice, or no text, or what it is in is malformed
  std::optional<std::string> text{};  ///< empty: it is absent
};

/// What is read of a body before anybody is known to have signed it: far more than senders send
/// whose signature can't be checked otherwise, and little for us.
inline constexpr std::size_t unsigned_values_max = 100'000;
inline constexpr std::size_t unsigned_fields_max = 1'000;

/// Looks values up in one delivery, which must outlive it. A body or query is parsed once, and only
/// if a value in it is looked for. Until trust() is called, one with very many values is taken for
/// malformed. Not thread-safe.
class delivery_values {
 public:
  explicit delivery_values(const delivery& arrived) : arrived_(arrived) {}

  /// The signature was good: what is parsed from now on is as long as its sender likes.
  void trust() noexcept { trusted_ = true; }

  /// Of a header field, JSON, a form or the query.
  [[nodiscard]] delivery_value find(const source& position);
  [[nodiscard]] const json_values& json();
  /// Empty: the body is no well-formed form.
  [[nodiscard]] const std::optional<form_fields>& form();
  [[nodiscard]] std::string_view path() const;
  /// With the question mark, as it was sent; empty: there is none.
  [[nodiscard]] std::string_view query() const;

 private:
  [[nodiscard]] std::optional<form_fields> parse(std::string_view text) const;
  [[nodiscard]] std::size_t values_max() const noexcept;

  const delivery& arrived_;
  bool trusted_ = false;
  std::optional<json_values> json_;
  std::optional<std::optional<form_fields>> form_;
  std::optional<std::optional<form_fields>> query_;
};

}  // namespace onceguard::webhook
