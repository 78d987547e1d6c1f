// Finds whose key a request has.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/http_message.hpp>

namespace onceguard::http {

/// The scope that a scope rule finds in a request.
struct scope_match {
  digest scope{};
  std::string scope_kind;         ///< "credential", "anonymous", "header:x-tenant" …
  std::vector<std::string> more;  ///< anonymous: further parts of the fingerprint …
  /// … and what they were in earlier versions, whose records may still be there.
  std::vector<std::string> more_before;
};

/// Whether callers without a credential share this scope.
[[nodiscard]] inline bool is_anonymous(std::string_view scope_kind) noexcept {
  return scope_kind.starts_with("anonymous");
}

/// What came of looking for a scope.
struct scope_lookup {
  std::optional<scope_match> match;
  bool absent = false;  ///< no match: the request lacks the source, or has an empty one
  std::string why;      ///< no match: for the caller, as sentences
};

/// Remembers the last scope digest. Most requests of a connection have the same credential, whose
/// digest is then computed only once. Long credentials are not remembered.
class scope_memo {
 public:
  [[nodiscard]] digest scope_of(std::string_view kind, std::string_view value);

 private:
  static constexpr std::size_t value_max = 512;  // an idle connection must not hold much memory

  std::string kind_;
  std::string value_;
  digest made_{};
};

/// The scope that the rule finds in the request.
[[nodiscard]] scope_lookup find_scope(const route_policy& policy, const scope_rule& rule,
                                      const request& request, scope_memo& last);

/// The same for a rule that a route had before: as records were stored under it, so that each
/// credential counts, of whatever scheme, and callers without one are anonymous.
[[nodiscard]] scope_lookup find_former_scope(const route_policy& policy, const scope_rule& rule,
                                             const request& request, scope_memo& last);

/// The token that a scope of this request may be made of; empty: none is.
[[nodiscard]] std::string_view find_token(const route_policy& policy, const request& request);

}  // namespace onceguard::http
