// The rules for the requests of one route. Plain values; the code that fills them in checks them.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <onceguard/decide.hpp>
#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

namespace onceguard {
inline namespace v1 {

/// What tells the callers of a route apart: a key never crosses scopes.
enum class scope_source : std::uint8_t {
  credential,  ///< the Authorization header, or else the client certificate
  header,      ///< a header field
  cookie,      ///< a cookie
  address,     ///< the address of the client, without the port
  none,        ///< nothing: all callers share one scope
  jwt,         ///< a claim of the bearer token, whose signature is verified
  auth_param,  ///< parts of an Authorization that is signed anew for each try; nobody here verifies
               ///< them
  several,     ///< several of these together
};
/// Which answers complete a key.
enum class keep_rule : std::uint8_t {
  success,  ///< 2xx and 3xx
  final,    ///< also 4xx but 408, 409, 425, 429
  all,      ///< every answer that came whole
};
/// What a request gets while another attempt has its key.
enum class on_busy_rule : std::uint8_t {
  reject,  ///< `busy`, at once
  wait,    ///< the answer of the other attempt, as soon as it is there
};
/// How an application is asked what became of an operation.
enum class probe_rule : std::uint8_t {
  fence,  ///< it refuses earlier tokens from the moment that it is asked
  ask,    ///< for one that can't; weaker
};
/// Where the work takes effect.
enum class effect_rule : std::uint8_t {
  elsewhere,      ///< apart from the record
  transactional,  ///< in the database of the store: the application completes the record itself
};
/// What happens while the store is out of reach.
enum class store_failure_rule : std::uint8_t {
  closed,  ///< nothing runs
  open,    ///< operations run without a record
};
/// How an upstream's status settles the record.
enum class outcome_rule : std::uint8_t {
  complete,  ///< the operation took effect: the answer is kept
  release,   ///< the operation did not take effect: the key is free again
  unknown,   ///< the status says nothing about the effect
  fail,      ///< the operation may run again after a back-off
};
/// A part of an answer that says more than its status: a header field, or a value in its JSON.
struct answer_part {
  /// False: a header field.
  bool json = false;
  /// The name of the field in lower case, or an RFC 6901 JSON Pointer.
  std::string name;
  /// What the part must be. Empty: anything, but in JSON not null, not false and not empty.
  std::string value;
  /// What the answer then means.
  outcome_rule meaning = outcome_rule::unknown;
  /// Equal in all members.
  friend bool operator==(const answer_part&, const answer_part&) = default;
};
/// Parts of an answer.
struct answer_parts {
  /// Values of its JSON: RFC 6901 JSON Pointers, of which a segment `*` stands for every element of
  /// an array and every member of an object.
  std::vector<std::string> pointers;
  /// Names of header fields, in lower case.
  std::vector<std::string> headers;
  /// Equal in all members.
  friend bool operator==(const answer_parts&, const answer_parts&) = default;
};
/// How an exception of the work settles the record, in front doors that call the work.
enum class exception_rule : std::uint8_t {
  unknown,  ///< it may have taken effect
  release,  ///< it did not take effect
  fail,     ///< it did not take effect, and may run again after a back-off
};

/// Where the scope of a request comes from.
struct scope_rule {
  /// What is taken.
  scope_source source = scope_source::credential;
  /// Name of the header (in lower case), of the cookie or of the claim; auth_param: the names of
  /// the parts, separated by commas.
  std::string name;
  /// several: what is taken, in this order.
  std::vector<scope_rule> parts = {};
  /// "credential", "header:x-tenant", "credential + header:x-tenant" …
  [[nodiscard]] std::string text() const;
  /// Equal in all members.
  friend bool operator==(const scope_rule&, const scope_rule&) = default;
};

/// Where a key is.
enum class key_location : std::uint8_t {
  header,   ///< a header field
  path,     ///< a segment of the path: an id that the client makes
  json,     ///< a text or a whole number in the JSON of the body
  content,  ///< nowhere: what makes two requests the same (the fingerprint) is the key
};

/// Where the key of a request comes from.
struct key_source {
  /// What is taken.
  key_location location = key_location::header;
  /// header: the name of the field.
  std::string header = "Idempotency-Key";
  /// path: the number of the segment, counted from 1: 2 in "/things/17". As the path is written,
  /// with no escape decoded.
  std::size_t segment = 0;
  /// json: the RFC 6901 JSON Pointer to the key.
  std::string pointer;
  /// "Idempotency-Key", "path:2", "json:/id", "content".
  [[nodiscard]] std::string text() const;
  /// Equal in all members.
  friend bool operator==(const key_source&, const key_source&) = default;
};

/// How an error of Onceguard's own is written.
enum class error_form : std::uint8_t {
  problem,  ///< application/problem+json (RFC 9457)
  stripe,   ///< `{"error": {"type", "code", "message"}}` and `Stripe-Should-Retry`
  paypal,   ///< `{"name", "message", "debug_id", "details"}`
  adyen,    ///< `{"status", "errorCode", "message", "errorType"}`
  text,     ///< the text of `route_policy::error_text`
};

class token_verifier;

/// All rules of a route.
struct route_policy {
  /// Which requests are guarded.
  std::vector<std::string> methods{"POST", "PATCH"};
  /// Where a key is looked for. A request may have it in several of these places if it is the same
  /// in all of them.
  std::vector<key_source> key{key_source{}};
  /// A guarded request without a key is refused.
  bool required = false;
  /// Guard nothing, and count what guarding would have done.
  bool observe = false;
  /// How a key is written.
  onceguard::key_syntax key_syntax = onceguard::key_syntax::lenient;
  /// What a key is.
  onceguard::key_format key_format = onceguard::key_format::any;
  /// Whom a key belongs to.
  scope_rule scope;
  /// The schemes of Authorization whose value is the same for each try of a request, whatever the
  /// case; "bare": also a value without a scheme. Others make no scope `credential`.
  std::vector<std::string> credential_schemes{"Bearer", "Basic", "Token", "ApiKey"};
  /// Where the upstream is asked, with the caller's own fields, whether it may get a stored answer;
  /// empty: nobody is asked.
  std::string replay_check;
  /// False: a request without a source for the scope `credential` is refused.
  bool anonymous = true;
  /// Verifies tokens, where a scope is a claim; null: every token is refused.
  std::shared_ptr<const token_verifier> tokens;
  /// Former scope rules, under which live records may exist.
  std::vector<scope_rule> previous_scope;
  /// What makes two requests the same: of their bodies …
  fingerprint_rule fingerprint;
  /// … and of their headers, where a front door for HTTP has them.
  onceguard::fingerprint_head fingerprint_head = onceguard::fingerprint_head::named;
  /// Further headers that count ("+x-region"), and headers that don't ("-host"); lower case,
  /// sorted.
  std::vector<std::string> fingerprint_headers;
  /// Which answers complete a key.
  keep_rule keep = keep_rule::success;
  /// Key: a status, for example 402.
  std::map<std::uint16_t, outcome_rule> outcome_status;
  /// Key: 4 for 4xx, 5 for 5xx …
  std::map<std::uint16_t, outcome_rule> outcome_class;
  /// Rules on parts of an answer, before those on its status. Those that name a value come first.
  std::vector<answer_part> outcome_parts;
  /// False: an answer is kept without its body.
  bool keep_body = true;
  /// Of these kinds of parts, a kept answer has no others; of a kind that is not named, all.
  answer_parts pick;
  /// What a kept answer does not say: these values are replaced, and these fields left out. Whoever
  /// gets the first answer gets it whole.
  answer_parts redact;
  /// How many operations of one scope may run in this process at a time; 0: any number.
  std::uint32_t quota_in_flight = 0;
  /// How many new keys one scope may bring to this process in a second; 0: any number.
  std::uint32_t quota_new_keys = 0;
  /// How many records one scope may leave in this process within `retention`; 0: any number.
  std::uint32_t quota_live_records = 0;
  /// Of how many bytes the answers may be that these records keep; 0: any number.
  std::size_t quota_live_bytes = 0;
  /// After a first failure; doubles with each one in a row …
  milliseconds backoff{1'000};
  /// … up to this.
  milliseconds backoff_max{60'000};
  /// How long after a crash the outcome becomes unknown.
  milliseconds lease{30'000};
  /// How long an answer is kept.
  milliseconds retention{24 * 3'600'000};
  /// Retention of what is not settled; 0: forever.
  milliseconds unknown_retention{0};
  /// While another attempt runs.
  on_busy_rule on_busy = on_busy_rule::reject;
  /// on_busy = wait: at most this long.
  milliseconds wait{10'000};
  /// If an earlier outcome is unknown.
  unknown_policy unknown = unknown_policy::hold;
  /// URL template with {scope} and {key}.
  std::string probe;
  /// What the probe does.
  probe_rule probe_mode = probe_rule::fence;
  /// With probe_mode = ask, an answer of this status and without a report means done …
  std::uint16_t probe_present = 0;
  /// … and an answer of this status means not done.
  std::uint16_t probe_absent = 0;
  effect_rule effect = effect_rule::elsewhere;                    ///< where the work takes effect
  store_failure_rule store_failure = store_failure_rule::closed;  ///< without the store
  std::size_t max_request_body = 1u << 20;                        ///< bytes; inclusive
  std::size_t max_answer_body = 1u << 20;              ///< bytes; a longer answer is not kept
  milliseconds upstream_timeout{60'000};               ///< how long the work may take
  bool keep_set_cookie = false;                        ///< keep and replay Set-Cookie as well
  exception_rule exception = exception_rule::unknown;  ///< of work that throws
  /// How errors are written.
  error_form errors = error_form::problem;
  /// errors = text: JSON with the placeholders {type}, {title}, {status}, {detail}, {retryable} and
  /// {retry}, which stand in for escaped text.
  std::string error_text;
  /// The status of a key that belongs to another request.
  std::uint16_t mismatch_status = 422;
  /// The status of a request whose twin is running.
  std::uint16_t busy_status = 409;
  /// Answers of guarded requests carry a key that came in a header, in a field of the same name.
  bool echo_key = false;
  /// Origins of web pages that may read Onceguard's own answers; "*": every page.
  std::vector<std::string> cors;
};

/// Whether leases are renewed while the work runs. Not where the upstream completes the operation
/// in its own transaction: above READ COMMITTED, such a transaction can't complete a record that
/// was written after the transaction's snapshot.
[[nodiscard]] bool renews_lease(const route_policy& policy) noexcept;
/// What is wrong with the durations of a policy; empty: nothing. The largest ones mean "for ever";
/// a lease is at least a second, a retention is positive, and no duration is negative.
[[nodiscard]] std::string fault_of_durations(const route_policy& policy);
/// How long a lease is granted for. One that is not renewed lasts for the upstream's time at least.
[[nodiscard]] milliseconds lease_length(const route_policy& policy) noexcept;

/// How a complete answer with this status settles the record. The rule for the single status comes
/// first, then the rule for its class, then the keep rule.
[[nodiscard]] outcome_rule outcome_of(const route_policy& policy, std::uint16_t status) noexcept;

}  // namespace v1
}  // namespace onceguard
