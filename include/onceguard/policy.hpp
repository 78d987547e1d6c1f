// The rules for the requests of one route. Plain values; the code that fills them in checks them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <onceguard/decide.hpp>
#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

namespace onceguard {

enum class scope_source : std::uint8_t { credential, header, cookie, address, none };
enum class keep_rule : std::uint8_t { success, final, all };
enum class on_busy_rule : std::uint8_t { reject, wait };
enum class probe_rule : std::uint8_t { fence, ask };
enum class effect_rule : std::uint8_t { elsewhere, transactional };
enum class store_failure_rule : std::uint8_t { closed, open };
/// How an upstream's status settles the record.
enum class outcome_rule : std::uint8_t { complete, release, unknown, fail };
/// How an exception of the work settles the record, in front doors that call the work.
enum class exception_rule : std::uint8_t { unknown, release, fail };

struct scope_rule {
  scope_source source = scope_source::credential;
  std::string name;                        ///< name of the header (in lower case) or of the cookie
  [[nodiscard]] std::string text() const;  ///< "credential", "header:x-tenant" …
  friend bool operator==(const scope_rule&, const scope_rule&) = default;
};

struct route_policy {
  std::vector<std::string> methods{"POST", "PATCH"};
  bool required = false;
  bool observe = false;  ///< guard nothing, and count what guarding would have done
  onceguard::key_syntax key_syntax = onceguard::key_syntax::lenient;
  onceguard::key_format key_format = onceguard::key_format::any;
  scope_rule scope;
  /// Former scope rules, under which live records may exist.
  std::vector<scope_rule> previous_scope;
  fingerprint_rule fingerprint;
  keep_rule keep = keep_rule::success;
  std::map<std::uint16_t, outcome_rule> outcome_status;  ///< key: a status, for example 402
  std::map<std::uint16_t, outcome_rule> outcome_class;   ///< key: 4 for 4xx, 5 for 5xx …
  bool keep_body = true;                                 ///< answer = "full"
  milliseconds backoff{1'000};
  milliseconds backoff_max{60'000};
  milliseconds lease{30'000};
  milliseconds retention{24 * 3'600'000};
  milliseconds unknown_retention{0};  ///< 0: never
  on_busy_rule on_busy = on_busy_rule::reject;
  milliseconds wait{10'000};
  unknown_policy unknown = unknown_policy::hold;
  std::string probe;  ///< URL template with {scope} and {key}
  probe_rule probe_mode = probe_rule::fence;
  // With probe_mode = ask, an answer of this status and without a report means done …
  std::uint16_t probe_present = 0;
  // … and an answer of this status means not done.
  std::uint16_t probe_absent = 0;
  effect_rule effect = effect_rule::elsewhere;
  store_failure_rule store_failure = store_failure_rule::closed;
  std::size_t max_request_body = 1u << 20;
  std::size_t max_answer_body = 1u << 20;
  milliseconds upstream_timeout{60'000};
  bool keep_set_cookie = false;
  exception_rule exception = exception_rule::unknown;
};

/// Whether leases are renewed while the work runs. Not where the upstream completes the operation
/// in its own transaction: above READ COMMITTED, such a transaction can't complete a record that
/// was written after the transaction's snapshot.
[[nodiscard]] bool renews_lease(const route_policy& policy) noexcept;
/// How long a lease is granted for. One that is not renewed lasts for the upstream's time at least.
[[nodiscard]] milliseconds lease_length(const route_policy& policy) noexcept;

/// How a complete answer with this status settles the record. The rule for the single status comes
/// first, then the rule for its class, then the keep rule.
[[nodiscard]] outcome_rule outcome_of(const route_policy& policy, std::uint16_t status) noexcept;

}  // namespace onceguard
