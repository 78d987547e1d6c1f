// Decides how an upstream's answer ends a lease, and which parts of the answer are stored.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/field.hpp"

namespace onceguard::http {

/// Selects the fields of an answer that are stored and replayed: all forwarded fields except Date
/// (sent anew), Set-Cookie unless `keep_set_cookie`, and marks of a replay.
void keep_fields(std::span<const base::field> fields, bool keep_set_cookie, answer& out);

/// A complete answer, as far as it says what became of the operation.
struct settling_answer {
  std::uint16_t status = 0;
  std::span<const base::field> fields;
  std::optional<std::string_view> body{};  ///< empty: it is not there as a whole
  /// The sign that a proxy may have answered in the place of the service; empty: there is none.
  std::string_view proxy{};
};

/// The sign that not the service has answered, but a proxy that may have sent the request on
/// before. Empty for all that proxies say only before that: other statuses than 503, 501 and 408.
/// `lacks_name`: the answer has no `Server`, and the service always names itself.
[[nodiscard]] std::string_view sign_of_another(std::uint16_t status,
                                               std::span<const base::field> fields, bool lacks_name,
                                               std::optional<std::string_view> body) noexcept;

/// Sets kind, reason and times of the settle after a complete answer. The service's own word comes
/// first, then the rules on parts of the answer, then those on its status. What would release
/// without such a rule is unknown if a proxy may have said it. Returns whether the word or a rule
/// of the route has said it, rather than what statuses mean by themselves.
bool settle_by_answer(const route_policy& policy, const settling_answer& answer, settle_terms& out);

/// After settle_by_answer, of a redirect. One that leads back to its own request (to the same path
/// by https) was no operation: it releases, unless that is not what the word or a rule says
/// (`by_rule`). Any other is kept without its body, if that can't be kept: the step behind it is
/// found by its Location. `kept` is the answer as far as it is kept.
void settle_redirect(std::string_view target, std::string_view host, const answer& kept,
                     settle_terms& out, bool by_rule = false);

}  // namespace onceguard::http
