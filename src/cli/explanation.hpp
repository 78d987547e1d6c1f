// What a gateway with these settings would make of a request, without doing it.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <onceguard/store.hpp>

#include "config/settings.hpp"

namespace onceguard::cli {

struct described_request {
  std::string method;
  std::string target;  ///< origin form
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  std::string client_address = "127.0.0.1";
};

struct explanation {
  enum class effect { pass, guard, refuse };
  std::string route;                 ///< host and prefix of the rule
  std::vector<std::string> methods;  ///< that the rule is limited to
  std::string upstream;
  effect kind = effect::pass;
  std::string reason;   ///< pass: why it is not guarded; refuse: what is wrong
  std::string problem;  ///< refuse: the problem's type
  std::uint16_t status = 0;
  // guard
  std::string key;
  digest scope{};
  std::string scope_kind;
  fingerprint print;
  record_id id{};
  std::vector<std::pair<record_id, std::string>> former;  ///< and under scopes from before: kinds
  std::vector<std::string> warnings;
};

[[nodiscard]] explanation explain(const config::settings& settings,
                                  const described_request& request);

/// The request's fingerprint, made as the record with this id says; none where it can't be.
[[nodiscard]] std::optional<fingerprint> print_like(const config::settings& settings,
                                                    const described_request& request,
                                                    const record_id& id, const std::string& method);

/// `current`: what stands in the store; `store_note`: why nothing is known of that.
[[nodiscard]] std::string explanation_page(const explanation& explanation,
                                           const std::optional<record_view>& current,
                                           const std::optional<bool>& same_request,
                                           const std::string& store_note);
[[nodiscard]] nlohmann::ordered_json explanation_json(const explanation& explanation,
                                                      const std::optional<record_view>& current,
                                                      const std::optional<bool>& same_request,
                                                      const std::string& store_note);

}  // namespace onceguard::cli
