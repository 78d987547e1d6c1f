// The fingerprint: SHA-256 over the parts that make two requests the same, each part
// length-prefixed.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/field.hpp>
#include <onceguard/record.hpp>

namespace onceguard {
inline namespace v1 {

/// What of a body is part of the fingerprint.
enum class fingerprint_kind : std::uint8_t {
  exact,  ///< content type and body bytes
  json,   ///< the RFC 8785 canonical form of the body; as `exact` if the body is not I-JSON
  none,   ///< the body is not part of the fingerprint
  form,   ///< the fields and files of a form, whatever the boundary between its parts; as `exact`
          ///< if the body is no form
};
/// Which values of a JSON body count.
enum class json_selection : std::uint8_t {
  all,   ///< the whole body
  pick,  ///< only the targets of the pointers
  omit,  ///< all but the targets of the pointers
};

/// What of a request counts beside upstream, method, path, query and body.
enum class fingerprint_head : std::uint8_t {
  none = 1,  ///< nothing; a compressed body and a multipart body are bytes like others
  /// The host and the headers that name an account or the operation. A gzip body counts by its
  /// contents, and a multipart body by its parts.
  named = 2,
};

/// How a fingerprint is made. The text form of the rule is kept in the record.
struct fingerprint_rule {
  fingerprint_kind kind = fingerprint_kind::exact;  ///< what of the body counts
  json_selection selection = json_selection::all;   ///< without pointers: same as `all`
  std::vector<std::string> pointers;                ///< RFC 6901 JSON Pointers
  fingerprint_head head = fingerprint_head::none;   ///< what of the header counts
  /// With `named`: further headers ("+x-region") and those that don't count ("-host"), in lower
  /// case.
  std::vector<std::string> headers{};

  /// The text form: "exact", "none", "form", "json", "json pick /a /b~1c", "json omit /t". Spaces
  /// in a pointer are written %20, percent signs %25. With `named`, "2 " and the headers come
  /// before: "2 +x-region -host exact".
  [[nodiscard]] std::string text() const;
  /// Parses the text form; errc::invalid_argument names the error and its position. What a
  /// fingerprint says about the work (see make_fingerprint) is left out.
  [[nodiscard]] static result<fingerprint_rule> parse(std::string_view text);
  /// Equal in all members.
  friend bool operator==(const fingerprint_rule&, const fingerprint_rule&) = default;
};

/// Whether `text` is a well-formed RFC 6901 JSON Pointer: empty, or beginning with '/', with `~`
/// only as ~0 and ~1.
[[nodiscard]] bool is_json_pointer(std::string_view text) noexcept;

/// The parts of a request that the fingerprint covers. The views must outlive the call.
struct fingerprint_input {
  std::string_view upstream;            ///< the upstream's name
  std::string_view method;              ///< the HTTP method
  std::string_view path;                ///< raw, as the client sent it
  std::string_view query;               ///< raw, without the question mark
  std::string_view content_type;        ///< the value of the Content-Type header field
  std::string_view body;                ///< the bytes of the body
  std::span<const std::string> more;    ///< other data that distinguishes callers (anonymous scope)
  std::string_view host{};              ///< without the port
  std::string_view content_encoding{};  ///< the value of the Content-Encoding header field
  std::span<const field> fields{};      ///< the header
  std::size_t longest_body = std::size_t{1} << 20;  ///< a body is never unpacked to more bytes
};

/// Makes the fingerprint. Never fails: a body that the rule can't parse is hashed byte by byte.
/// With `fingerprint_head::named`, the method also tells the work that is asked for, in two digests
/// that leave out marks of the caller, coding and order: "2 work=0123456789abcdef:0123456789abcdef
/// exact". Where the work differs, the fingerprint differs too. Thread-safe.
[[nodiscard]] fingerprint make_fingerprint(const fingerprint_rule& rule,
                                           const fingerprint_input& input);

/// The RFC 8785 canonical form, with the selection applied to the parsed value first:
/// - `omit` removes the targets of the pointers. All pointers are resolved in the original value
///   first, so an array index always refers to the original text; the elements after a removed
///   element then move up. A pointer without a target changes nothing. The pointer to the whole
///   value leaves the empty text.
/// - `pick` makes an object with a member for each pointer that has a target: the member's name is
///   the pointer, its value is the target. So a missing value differs from null. Neither the order
///   nor the repetition of pointers matters.
/// - A selection without pointers is `all`; a malformed pointer has no target.
/// Returns errc::invalid_argument, with the byte position, if the text is not I-JSON (RFC 7493) in
/// a way that matters for equality, also outside the selection: not JSON, not UTF-8, duplicate
/// names, lone surrogates, a number of more than 17 significant digits (zeros at either end don't
/// count) or outside the range of a double, nesting over 512, an integer beyond 2^53. The last rule
/// applies to numbers that are written as integers, and to numbers whose canonical form is an
/// integer (9007199254740993.0, 1e20; but not 1e21, which keeps its form).
[[nodiscard]] result<std::string> canonical_json(std::string_view text,
                                                 const fingerprint_rule& rule = {});

/// SHA-256 over (scope, key), each length-prefixed. Stores find a record by this id.
[[nodiscard]] record_id make_record_id(const digest& scope, std::string_view key);

/// SHA-256 over the scope's kind and value, length-prefixed.
[[nodiscard]] digest make_scope_digest(std::string_view kind, std::string_view value);

}  // namespace v1
}  // namespace onceguard
