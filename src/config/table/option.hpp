// One row of the table of options. TOML reading, flags, environment, `check` and the reference are
// all made from this table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <onceguard/record.hpp>

#include "config/table/document.hpp"
#include "config/table/remark.hpp"

namespace onceguard::config {

enum class value_kind : std::uint8_t {
  boolean,
  integer,
  size,      ///< bytes: 512, "64KiB"
  duration,  ///< milliseconds: "250ms", "30s"
  choice,    ///< one of `choices`; the value is its index
  status,    ///< an HTTP status, 100 to 599
  text,
  list,      ///< texts without duplicates
  outcomes,  ///< { "5xx" = "release" }; the words are in `choices`
};

/// What a configuration is for.
enum class front_door : std::uint8_t {
  gateway,
  service,  ///< a program that calls the library
};

using outcome_list = std::vector<std::pair<std::string, std::string>>;
/// boolean; integer, size, duration, choice and status; text; list; outcomes.
using option_value =
    std::variant<bool, std::int64_t, std::string, std::vector<std::string>, outcome_list>;

struct option {
  std::string_view name{};         ///< in the TOML file
  std::string_view former_name{};  ///< its name in the file in earlier versions; empty: the same
  std::string_view flag{};         ///< without the dashes; empty: only in the file
  value_kind kind = value_kind::text;
  std::string_view fallback{};  ///< the default, written as a flag's value
  std::string_view example{};   ///< an example for the reference; empty: the default is example
                                ///< enough
  std::string_view text{};      ///< one or several sentences for the reference and `--help`
  std::int64_t min = 0;         ///< inclusive bounds of integers, sizes and durations
  std::int64_t max = 0;
  bool may_be_empty = false;  ///< "" is valid too (0 for a duration or status)
  bool one_or_more = false;   ///< of a list: it has an item at least, and may be that item alone
  std::span<const std::string_view> choices{};
  /// The fault of a text, or of one item of a list; empty: valid.
  std::string (*complaint)(std::string_view) = nullptr;
  bool secret = false;  ///< a text that may hold a password: it may stand in a file of its own
  std::optional<front_door> only{};  ///< the one that has this option; empty: both have it

  [[nodiscard]] std::string variable() const;  ///< environment variable: "ONCEGUARD_STORE_TIMEOUT"
};

/// An option and the function that assigns its value.
template <class Target>
struct row {
  option spec;
  void (*assign)(Target&, const option_value&) = nullptr;
};

template <class Target>
[[nodiscard]] std::vector<const option*> specs_of(std::span<const row<Target>> rows) {
  std::vector<const option*> out;
  for (const auto& r : rows) out.push_back(&r.spec);
  return out;
}

/// A value and where it was read.
struct setting {
  const option* spec = nullptr;
  option_value value;
  origin position;
};

/// Reads a flag or variable. Lists and outcomes are separated by commas
/// (`5xx=release,402=complete`). `title` precedes the option's name in faults, which are added to
/// `out`.
[[nodiscard]] std::optional<option_value> read_text(const option& spec, std::string_view text,
                                                    const origin& origin, std::string_view title,
                                                    remarks& out);
[[nodiscard]] std::optional<option_value> read_node(const option& spec, const node& node,
                                                    const std::string& file, layer where,
                                                    std::string_view title, remarks& out);

/// A value as written in a TOML file.
[[nodiscard]] std::string toml_text(const option& spec, const option_value& value);
/// "a duration from 1s to 24h", for the reference.
[[nodiscard]] std::string expectation(const option& spec);

}  // namespace onceguard::config

namespace onceguard::config::values {

// Shared by the files of options: units, and access to a parsed value by its kind.

inline constexpr std::int64_t second = 1'000;
inline constexpr std::int64_t minute = 60 * second;
inline constexpr std::int64_t hour = 60 * minute;
inline constexpr std::int64_t day = 24 * hour;
inline constexpr std::int64_t kib = 1 << 10;
inline constexpr std::int64_t mib = 1 << 20;
inline constexpr std::int64_t gib = 1 << 30;

inline std::int64_t number(const option_value& v) { return std::get<std::int64_t>(v); }
inline std::size_t size(const option_value& v) { return static_cast<std::size_t>(number(v)); }
inline milliseconds duration(const option_value& v) { return milliseconds(number(v)); }
inline const std::string& text(const option_value& v) { return std::get<std::string>(v); }
inline const std::vector<std::string>& list(const option_value& v) {
  return std::get<std::vector<std::string>>(v);
}

/// For row::assign: the value goes to the member at the end of the path, as it is.
template <auto... path, class Target>
void assign(Target& target, const option_value& v) {
  auto& member = (target.*....*path);
  using value = std::remove_reference_t<decltype(member)>;
  if constexpr (std::is_same_v<value, milliseconds>) {
    member = duration(v);
  } else if constexpr (std::is_enum_v<value> ||
                       (std::is_integral_v<value> && !std::is_same_v<value, bool>)) {
    member = static_cast<value>(number(v));
  } else {
    member = std::get<value>(v);
  }
}

}  // namespace onceguard::config::values
