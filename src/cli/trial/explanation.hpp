// Explains how a gateway with these settings would handle a request, without sending the request.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <onceguard/store.hpp>

#include "config/settings.hpp"

namespace onceguard::cli::trial {

struct described_request {
  std::string method;
  std::string target;  ///< origin form
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  std::string client_address = "127.0.0.1";
};

struct explanation {
  enum class effect { pass, guard, refuse };
  std::string route;                 ///< host and path prefix of the route
  std::vector<std::string> methods;  ///< empty unless the route is limited to these methods
  std::string upstream;
  effect kind = effect::pass;
  std::string reason;   ///< pass: why the request is not guarded; refuse: the fault
  std::string problem;  ///< refuse: the problem's type
  std::uint16_t status = 0;
  // guard
  std::string key;
  digest scope{};
  std::string scope_kind;
  fingerprint print;
  record_id id{};
  std::vector<std::pair<record_id, std::string>> former;  ///< records under former scopes, with the
                                                          ///< scopes' kinds
  std::vector<std::string> warnings;
  bool observed = false;  ///< the route observes alone: it would pass whatever is said above
  unknown_policy unknown = unknown_policy::hold;
  milliseconds probe_after{0};
};

/// A URL is split as a client splits it: its host becomes the Host field.
void set_url(described_request& request, const std::string& url);

[[nodiscard]] explanation explain(const config::settings& settings,
                                  const described_request& request);

/// The request's fingerprint by the rule `method`, under the scope of the record `id`. Empty if
/// `method` is no valid rule.
[[nodiscard]] std::optional<fingerprint> print_like(const config::settings& settings,
                                                    const described_request& request,
                                                    const record_id& id, const std::string& method);

/// `current`: the stored record; `store_note`: why the store's contents are unknown.
[[nodiscard]] std::string explanation_page(const explanation& explanation,
                                           const std::optional<record_view>& current,
                                           const std::optional<bool>& same_request,
                                           const std::string& store_note);
[[nodiscard]] nlohmann::ordered_json explanation_json(const explanation& explanation,
                                                      const std::optional<record_view>& current,
                                                      const std::optional<bool>& same_request,
                                                      const std::string& store_note);

}  // namespace onceguard::cli::trial
