// The rules in force: routes as a middleware, and policies by name. A reload makes new ones; an
// operation keeps those that it was claimed by.
#pragma once
#include <memory>
#include <string>

#include <onceguard/http.hpp>

#include "middleware/middleware_state.hpp"
#include "serve/operation_id.hpp"
#include "serve/params/serve_params.hpp"

namespace onceguard::serve {

struct live_rules {
  serve_rules given;
  policy_ptr defaults;
  std::size_t longest_message = 0;  ///< of a body that some policy takes, in bytes
  http::middleware routes;

  /// errc::invalid_argument: what is wrong with the rules.
  [[nodiscard]] static result<std::shared_ptr<const live_rules>> make(
      guard& records, serve_rules given, const std::string& problem_base);

  /// The route with this host and path that takes the method; null: there is none any more.
  [[nodiscard]] const http::ready_route* route(std::string_view name,
                                               std::string_view method) const;
  /// The policy of an operation by its parts. errc::invalid_argument: there is none.
  [[nodiscard]] result<policy_ptr> policy(rules_kind kind, std::string_view rules) const;
};
using rules_ptr = std::shared_ptr<const live_rules>;

}  // namespace onceguard::serve
