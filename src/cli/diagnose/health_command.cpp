#include <iostream>

#include <nlohmann/json.hpp>

#include "admin/client.hpp"
#include "cli/command.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {
namespace {

using nlohmann::json;

constexpr milliseconds patience{5'000};

/// "store-away since 2026-…: connection refused", from an entry of /readyz.
std::string reason_text(const json& entry) {
  std::string out = entry.value("reason", "");
  if (const auto since = entry.value("since", ""); !since.empty()) out += " since " + since;
  if (const auto why = entry.value("why", ""); !why.empty()) out += ": " + why;
  return terminal_text(out);
}

int run_health(const std::string& text) {
  const auto address = gateway::parse_admin_address(text);
  if (!address) {
    std::cerr << "onceguard: --admin: " << address.error().detail << "\n";
    return exit_usage;
  }
  const auto answer = admin::ask(*address, {.target = "/readyz"}, patience);
  if (!answer) {
    std::cerr << "onceguard: " << answer.error().detail << "\n";
    return exit_failed;
  }
  if (answer->status == 200) {
    std::cout << "ready\n";
    return exit_ok;
  }
  const auto body = json::parse(answer->body, nullptr, false);
  if (answer->status != 503 || !body.is_object() || !body.contains("reasons")) {
    std::cerr << "onceguard: " << text << ": answered " << answer->status
              << " to /readyz; is it the admin listener of a gateway?\n";
    return exit_failed;
  }
  std::cout << "not ready\n";
  for (const auto& entry : body["reasons"]) std::cout << "  " << reason_text(entry) << "\n";
  return exit_failed;
}

}  // namespace

void add_health_command(command app) {
  const auto added =
      app.add_command("health", "Say whether a gateway is ready for requests, and why not");
  const auto address = std::make_shared<std::string>();
  added.add_option("--admin", *address, "Where its admin listener is, as in [gateway] admin")
      .type("ADDRESS")
      .required();
  added.footer(
      "Ends with 0 if it is ready, otherwise with 1: for the health check of a container.\n\n"
      "Example:\n"
      "  onceguard health --admin 127.0.0.1:8081");
  added.runs([=] { return run_health(*address); });
}

}  // namespace onceguard::cli
