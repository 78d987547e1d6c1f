#include "cli/diagnose/admin_findings.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "admin/client.hpp"
#include "admin/token_list.hpp"
#include "cli/diagnose/machine_findings.hpp"

namespace onceguard::cli::diagnose {
namespace {

using base::diagnoses;
using base::diagnosis;
using grade = diagnosis::grade;

constexpr milliseconds longest_answer_wait{5'000};
constexpr const char* scope_finding_id = "other-scope";

/// The sum of a counter's lines, in the text format of Prometheus.
std::uint64_t sum_of_metric(const std::string& metrics, std::string_view name) {
  std::uint64_t sum = 0;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name) || line.find_first_of(" {") != name.size()) continue;
    sum += static_cast<std::uint64_t>(std::strtod(line.c_str() + line.rfind(' '), nullptr));
  }
  return sum;
}

result<std::string> ask_for_metrics(const admin::admin_params& params) {
  admin::client_request request{.target = "/metrics"};
  if (!params.token_file.empty()) {
    auto token = admin::find_viewing_token(params.token_file);
    if (!token) return std::move(token).error();
    request.token = *std::move(token);
  }
  auto answer = admin::ask(params.address, request, longest_answer_wait);
  if (!answer) return std::move(answer).error();
  if (answer->status == 200) return std::move(answer->body);
  return error(errc::conflict,
               params.address.text() + ": answered " + std::to_string(answer->status));
}

std::string times(std::uint64_t count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

/// Whether operations came again under another scope, as whoever answers there has counted them.
diagnosis examine_other_scopes(const admin::admin_params& params) {
  const auto metrics = ask_for_metrics(params);
  if (!metrics) {
    return {
        grade::note, scope_finding_id,
        "the gateway that runs here does not tell what it has counted: " + metrics.error().detail,
        "onceguard report, of its log, counts as well"};
  }
  const auto ran = sum_of_metric(*metrics, "onceguard_other_scopes_total");
  const auto observed = sum_of_metric(*metrics, "onceguard_observed_other_scopes_total");
  if (ran + observed == 0) {
    return {grade::ok,
            scope_finding_id,
            "the gateway that runs here has met no key and content again under another scope",
            {}};
  }
  std::string text =
      "since its start, the gateway that runs here met a key with its content again "
      "under another scope: ";
  if (ran != 0) text += times(ran) + ", and ran it again";
  if (ran != 0 && observed != 0) text += "; ";
  if (observed != 0) text += times(observed) + " where it observes, and would run it again";
  return {
      grade::warning, scope_finding_id, std::move(text),
      "most likely a credential is renewed or signed anew between two tries: take what stays of "
      "it as the scope, such as \"jwt:sub\", \"header:NAME\" of a trusted proxy or "
      "\"auth-param:NAME\"; the events other-scope and onceguard report, of the log, name the "
      "routes (with --admin it counts those that observe alone)"};
}

diagnosis examine_tokens(const std::string& file) {
  if (const auto tokens = admin::token_list::read(file); !tokens) {
    return {grade::fault, "admin-token-file", tokens.error().detail,
            "correct the file: a line each, \"operator TOKEN\" or \"viewer TOKEN\""};
  }
  return {grade::ok, "admin-token-file", file + " can be read", {}};
}

}  // namespace

diagnoses examine_admin(const admin::admin_params& params) {
  if (!params.enabled) {
    return {{grade::note, "admin",
             "there is no admin listener: no health, no metrics, no admin API",
             "set [gateway] admin to \"127.0.0.1:8081\" or to a Unix socket"}};
  }
  diagnoses out;
  out.push_back(params.address.is_socket() ? examine_socket("admin", params.address.socket_path)
                                           : examine_listener("admin", params.address.tcp));
  // A gateway runs here already.
  if (out.back().level == grade::note) out.push_back(examine_other_scopes(params));
  if (!params.token_file.empty()) {
    out.push_back(examine_tokens(params.token_file));
  } else if (params.address.is_socket()) {
    auto rights = examine_socket_rights("admin", params.address.socket_path);
    std::ranges::move(rights, std::back_inserter(out));
  }
  return out;
}

}  // namespace onceguard::cli::diagnose
