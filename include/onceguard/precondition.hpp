// Optimistic locking by preconditions (RFC 9110, section 13, and RFC 6585, section 3): a change
// takes effect only on the version that its client has seen. Over any store that has a version for
// each row; nothing here does input or output of its own.
//
//   const auto done = http::change(request, {.load = …, .store = …}, {});
//   if (done.kind == http::change_kind::failed) return {412, …};
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include <onceguard/etag.hpp>
#include <onceguard/http_message.hpp>

namespace onceguard::http {
inline namespace v1 {

/// What the preconditions of a request come to.
enum class precondition : std::uint8_t {
  proceed,       ///< there are none, or they hold
  not_modified,  ///< 304: GET or HEAD, and the client has this version
  failed,        ///< 412: nothing is done
  required,      ///< 428: a change without a condition, where one is asked for
  malformed,     ///< 400: a condition that can't be read is not taken for none
};
/// The status of the answer; 200 for proceed.
[[nodiscard]] std::uint16_t status_of(precondition found) noexcept;

/// Evaluates `If-Match` and `If-None-Match` in the order of RFC 9110, 13.2.2, against the tag of
/// what is there now; none: nothing is there. Pure and thread-safe.
///
/// `If-Match` is compared strongly, `If-None-Match` weakly. With `If-Match`, it is evaluated first,
/// and `If-None-Match` after it. Conditions on dates are ignored, as for any resource without a
/// date of modification (13.1.3, 13.1.4), and so is `If-Range`. All are ignored for CONNECT,
/// OPTIONS and TRACE (13.2.1). An `If-None-Match` that can't be read is ignored for GET and HEAD.
///
/// Call it only where the answer without conditions would be a 2xx (13.2.1): a change of what is
/// not there, by a method that can't make it, is a 404 whatever the conditions.
///
/// @param required Whether a change needs `If-Match` or `If-None-Match: *`, else 428. An answer of
///   428 tells the client how to send it again, and is not cached.
[[nodiscard]] precondition evaluate(const request& request, const std::optional<etag>& current,
                                    bool required = false);

/// What a store has now.
struct current_version {
  std::optional<std::int64_t> version;  ///< none: nothing is there
  /// An earlier attempt of this very request has made what is there, and its answer was lost: the
  /// row remembers by which id it was changed last. For a deletion: nothing is there. False if it
  /// is not known. Equal content is no proof, though RFC 9110 allows to take it for one: of two
  /// clients who both make 1 of 0, one would lose an addition.
  bool applied = false;
};

/// A row with a version, in any store.
struct versioned_row {
  /// Reads what is there now.
  std::function<current_version()> load;
  /// Makes the change in one atomic step if the version still is `expected` (none: nothing is
  /// there), and gives the new version, which no earlier state had: UPDATE … SET version = version
  /// + 1 WHERE id = … AND version = … RETURNING version. None: the version is another one, and
  /// nothing was done.
  std::function<std::optional<std::int64_t>(std::optional<std::int64_t> expected)> store;
};

/// How a change is made.
struct change_rules {
  bool required = true;  ///< a change without a condition gets 428
  bool creates = true;   ///< the request may make what is not there, as PUT does; else absent
};

/// What a change comes to.
enum class change_kind : std::uint8_t {
  created,    ///< 201: nothing was there
  changed,    ///< 200 or 204
  applied,    ///< 200 or 204: `If-Match` does not hold, as an earlier attempt has done it
  absent,     ///< 404
  failed,     ///< 412: another version is there; `version` is that one
  required,   ///< 428
  malformed,  ///< 400
  contended,  ///< 503: others changed it each time; only without `If-Match` of a tag
};
/// The status of the answer; 200 where it may also be 204.
[[nodiscard]] std::uint16_t status_of(change_kind kind) noexcept;

/// The outcome, and the version that is there now.
struct changed {
  change_kind kind = change_kind::failed;  ///< the outcome
  std::optional<std::int64_t> version;     ///< none: nothing is there, or nobody looked
};

/// Makes a change if its preconditions hold, and if nobody comes between the look and the change.
///
/// Loads, evaluates with make_etag(version) as the current tag, and stores on that version. If
/// another writer was faster, all of it is done again: a tag of `If-Match` then fits no more, `*`
/// and no condition may fit again, which is tried up to 16 times.
///
/// A failed `If-Match` is `applied` where an earlier attempt was successful (13.1.1): so a client
/// whose answer was lost gets a success for its repeat, and not a 412 for its own change. A
/// failed `If-None-Match` is always `failed` (13.1.2). What the functions throw passes through.
[[nodiscard]] changed change(const request& request, const versioned_row& row,
                             const change_rules& rules);

}  // namespace v1
}  // namespace onceguard::http
