#include <iostream>

#include <nlohmann/json.hpp>

#include "admin/client.hpp"
#include "base/json_reader.hpp"
#include "cli/command.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::diagnose {
namespace {

using nlohmann::json;

constexpr milliseconds patience{5'000};

/// "store-away since 2026-…: connection refused", from an entry of /readyz.
std::string reason_text(const json& entry) {
  auto out = base::text_in(entry, "reason");
  if (const auto since = base::text_in(entry, "since"); !since.empty()) out += " since " + since;
  if (const auto why = base::text_in(entry, "why"); !why.empty()) out += ": " + why;
  return terminal_text(out);
}

int run_health(const std::string& text) {
  const auto address = base::parse_server_address(text);
  if (!address) {
    std::cerr << "onceguard: --admin: " << address.error().detail << "\n";
    return exit_usage;
  }
  const auto answer = admin::ask(*address, {.target = "/readyz"}, patience);
  if (!answer) {
    std::cerr << "onceguard: " << answer.error().detail << "\n";
    return exit_failed;
  }
  const auto body = json::parse(answer->body, nullptr, false);
  // Another server may answer 200 to any path.
  if (answer->status == 200 && base::member<bool>(body, "ready").value_or(false)) {
    std::cout << "ready\n";
    return exit_ok;
  }
  const auto* const reasons = base::find_member(body, "reasons");
  if (answer->status != 503 || reasons == nullptr) {
    std::cerr << "onceguard: " << text << ": answered " << answer->status
              << " to /readyz; is it the admin listener of a gateway?\n";
    return exit_failed;
  }
  std::cout << "not ready\n";
  for (const auto& entry : *reasons) std::cout << "  " << reason_text(entry) << "\n";
  return exit_failed;
}

}  // namespace

void add_health_command(const command& added) {
  const auto address = std::make_shared<std::string>();
  added.add({{"--admin", address.get(), "Where its admin listener is, as in [gateway] admin",
              required("ADDRESS")}});
  added.runs([=] { return run_health(*address); });
}

}  // namespace onceguard::cli::diagnose
