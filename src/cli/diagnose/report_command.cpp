#include <fstream>
#include <iomanip>
#include <iostream>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "admin/client.hpp"
#include "base/json_reader.hpp"
#include "cli/admin_flags.hpp"
#include "cli/command.hpp"
#include "cli/diagnose/recommended_routes.hpp"
#include "cli/diagnose/route_advice.hpp"
#include "cli/diagnose/route_traffic.hpp"
#include "cli/store_work.hpp"
#include "text/record_json.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::diagnose {
namespace {

using nlohmann::ordered_json;

constexpr milliseconds report_timeout{10'000};

struct report_request {
  admin_flags admin;
  std::vector<std::string> files;
  bool json = false;
  bool toml = false;
};

result<traffic> ask_gateway(const admin::admin_target& target) {
  const auto answer =
      admin::ask(target.address, {.target = "/api/report", .token = target.token}, report_timeout);
  if (!answer) {
    const auto& why = answer.error();
    return error(why.code == errc::not_found ? errc::store_unreachable : why.code, why.detail);
  }
  if (answer->status == 200) return read_observation(answer->body);
  const auto body = nlohmann::json::parse(answer->body, nullptr, false);
  return admin::refusal_error(
      target.address, answer->status,
      "answered " + std::to_string(answer->status) + ": " + base::text_in(body, "detail"));
}

result<traffic> read_logs(const std::vector<std::string>& files) {
  traffic out;
  if (files.empty()) add_log(std::cin, out);
  for (const auto& path : files) {
    std::ifstream file(path);
    add_log(file, out);
    if (!file.eof()) return error(errc::conflict, path + ": can't be read");
  }
  return out;
}

struct column {
  const char* title;
  std::uint64_t (*number)(const route_traffic&);
};
constexpr column columns[] = {
    {"requests", [](const route_traffic& seen) { return seen.requests; }},
    {"with key", [](const route_traffic& seen) { return seen.with_key; }},
    {"repeats", [](const route_traffic& seen) { return seen.repeats; }},
    {"replays", [](const route_traffic& seen) { return seen.replays(); }},
    {"other scope", [](const route_traffic& seen) { return seen.other_scopes; }},
    {"mismatches", [](const route_traffic& seen) { return seen.count("mismatch"); }},
    {"refused", [](const route_traffic& seen) { return seen.count("refused"); }},
    {"same content", [](const route_traffic& seen) { return seen.contents_repeated; }},
    {"ran again", [](const route_traffic& seen) { return seen.run_again; }},
};

std::string title_of(const std::string& route) {
  return route.empty() ? "(no route)" : plain_text(route);
}

void print_page(const traffic& seen) {
  constexpr int first = 30, other = 14;
  std::cout << "Requests from " << terminal_text(seen.begin) << " until " << terminal_text(seen.end)
            << "\n\n"
            << std::left << std::setw(first) << "route" << std::right;
  for (const auto& [title, number] : columns) std::cout << std::setw(other) << title;
  for (const auto& [route, counts] : seen.routes) {
    std::cout << "\n" << std::left << std::setw(first) << title_of(route) << std::right;
    for (const auto& [title, number] : columns) std::cout << std::setw(other) << number(counts);
  }
  std::cout
      << "\n\n"
         "repeats: a key came again with the same request. replays: of them, those that get\n"
         "the first answer. other scope: the same, from who has another credential by now; it\n"
         "runs again. same content: no key or another, and the content of another request.\n"
         "ran again: a repeat or same content, and both got an answer of success.\n";
  for (const auto& [route, counts] : seen.routes) {
    std::cout << "\n" << title_of(route) << (counts.observed != 0 ? " (observed)" : "") << "\n";
    for (const auto& [setting, why] : advise(counts)) {
      std::cout << "  " << setting << "\n      " << why << "\n";
    }
  }
}

ordered_json route_json(const std::string& route, const route_traffic& seen) {
  ordered_json out;
  out["route"] = route;
  out["requests"] = seen.requests;
  out["observed"] = seen.observed;
  out["with_key"] = seen.with_key;
  out["anonymous"] = seen.anonymous;
  out["not_compared"] = seen.not_compared;
  out["repeats"] = seen.repeats;
  out["other_scopes"] = seen.other_scopes;
  out["replays"] = seen.replays();
  out["mismatches"] = seen.count("mismatch");
  out["refused"] = seen.count("refused");
  out["contents_repeated"] = seen.contents_repeated;
  out["run_again"] = seen.run_again;
  out["outcomes"] = ordered_json(seen.outcomes);
  out["would_be"] = ordered_json(seen.would_be);
  out["problems"] = ordered_json(seen.problems);
  out["advice"] = ordered_json::array();
  for (const auto& [setting, why] : advise(seen)) {
    out["advice"].push_back({{"setting", setting}, {"why", why}});
  }
  return out;
}

void print_json(const traffic& seen) {
  ordered_json out;
  out["from"] = seen.begin;
  out["until"] = seen.end;
  out["lines_skipped"] = seen.lines_skipped;
  out["routes"] = ordered_json::array();
  for (const auto& [route, counts] : seen.routes) {
    out["routes"].push_back(route_json(route, counts));
  }
  std::cout << json_line(out) << "\n";
}

int run_report(const report_request& request) {
  const bool remote = !request.admin.address.empty();
  const bool typed = !remote && request.files.empty() && ::isatty(STDIN_FILENO) != 0;
  if (typed || (remote && !request.files.empty())) {
    std::cerr << "onceguard: either --admin or the files of a log, or a log on standard input\n";
    return exit_usage;
  }
  std::optional<admin::admin_target> target;
  if (remote) target = read_target(request.admin);
  if (remote && !target) return exit_usage;
  const auto seen = remote ? ask_gateway(*target) : read_logs(request.files);
  if (!seen) return complain(seen.error());
  if (seen->lines_skipped != 0) {
    std::cerr << "onceguard: " << seen->lines_skipped << " lines are no JSON of a log; skipped\n";
  }
  if (request.json) {
    print_json(*seen);
    return exit_ok;
  }
  if (seen->routes.empty()) {
    std::cerr << "onceguard: there is no request to report on"
              << (remote ? "; do routes have observe = true?\n" : "\n");
    return exit_not_found;
  }
  if (request.toml) {
    std::cout << recommended_routes(*seen);
    return exit_ok;
  }
  print_page(*seen);
  return exit_ok;
}

}  // namespace

void add_report_command(const command& added) {
  const auto request = std::make_shared<report_request>();
  add_admin_flags(added, request->admin,
                  "Read what the gateway with this admin listener has observed");
  added.add({{"FILE", &request->files, "A log of JSON lines; none: standard input", typed("")},
             {"--json", &request->json, "As one JSON object"},
             {"--toml", &request->toml,
              "Routes to paste into the configuration, with the evidence in comments; with --admin "
              "also their scopes and fingerprints",
              not_with("--json")}});
  added.runs([=] { return run_report(*request); });
}

}  // namespace onceguard::cli::diagnose
