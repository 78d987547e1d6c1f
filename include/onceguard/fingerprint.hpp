// The fingerprint: SHA-256 over what makes two requests the same, each part length-prefixed.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

enum class fingerprint_kind : std::uint8_t {
  exact,  ///< content type and body bytes
  json,   ///< the RFC 8785 canonical form of the body; `exact` where it is not I-JSON
  none,   ///< nothing of the body
};
enum class json_selection : std::uint8_t { all, pick, omit };

/// How a fingerprint is made. Its text form is kept in the record.
struct fingerprint_rule {
  fingerprint_kind kind = fingerprint_kind::exact;
  json_selection selection = json_selection::all;  ///< without pointers: all
  std::vector<std::string> pointers;               ///< RFC 6901 JSON Pointers

  /// "exact", "none", "json", "json pick /a /b~1c", "json omit /t"; spaces in a pointer are %20,
  /// percent signs %25.
  [[nodiscard]] std::string text() const;
  /// The reverse; errc::invalid_argument names what is wrong and where.
  [[nodiscard]] static result<fingerprint_rule> parse(std::string_view text);
  friend bool operator==(const fingerprint_rule&, const fingerprint_rule&) = default;
};

/// A well-formed RFC 6901 JSON Pointer: empty, or beginning with '/', `~` only as ~0 and ~1.
[[nodiscard]] bool is_json_pointer(std::string_view text) noexcept;

/// What a fingerprint is made from. Views: they must outlive the call.
struct fingerprint_input {
  std::string_view upstream;  ///< the upstream's name
  std::string_view method;
  std::string_view path;   ///< raw, as the client sent it
  std::string_view query;  ///< raw, without the question mark
  std::string_view content_type;
  std::string_view body;
  std::span<const std::string> more;  ///< what else tells callers apart (anonymous scope)
};

/// Never fails: a body that the rule can't read is taken byte by byte. Thread-safe.
[[nodiscard]] fingerprint make_fingerprint(const fingerprint_rule& rule,
                                           const fingerprint_input& input);

/// The RFC 8785 canonical form, with the selection applied to the parsed value first:
/// - `omit` leaves out what the pointers point to. All of them are looked up in the whole value
///   first, so an index of an array is always that of the text; what follows an element that was
///   left out then moves up. A pointer to nothing changes nothing; the pointer to the whole value
///   leaves the empty text.
/// - `pick` gives an object with a member for each pointer that points to something: the pointer
///   is its name, what it points to its value. So a missing value differs from null, and neither
///   the order of the pointers nor how often one is given matters.
/// - A selection without pointers is `all`; a malformed pointer points to nothing.
/// errc::invalid_argument, with the byte, where the text is not I-JSON (RFC 7493) as far as
/// equality needs it, also outside the selection: not JSON, not UTF-8, duplicate names, lone
/// surrogates, a number of more than 17 significant digits (zeros at either end don't count) or
/// outside the range of a double, nesting over 512, an integer beyond 2^53: written as one, or a
/// number whose canonical form is one (9007199254740993.0, 1e20; not 1e21, which stays so).
[[nodiscard]] result<std::string> canonical_json(std::string_view text,
                                                 const fingerprint_rule& rule = {});

/// SHA-256 over (scope, key), length-prefixed: what stores find a record by.
[[nodiscard]] record_id make_record_id(const digest& scope, std::string_view key);

/// SHA-256 over the scope's kind and value, length-prefixed.
[[nodiscard]] digest make_scope_digest(std::string_view kind, std::string_view value);

}  // namespace onceguard
