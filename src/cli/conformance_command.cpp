#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/command.hpp"
#include "conformance/report.hpp"
#include "conformance/runner.hpp"

namespace onceguard::cli {
namespace {

using conformance::test_case;

struct conformance_request {
  std::string target;
  std::string spec;
  std::string level = "onceguard";
  std::vector<std::string> names;
  bool json = false;
};

int fail(int code, const std::string& text) {
  std::cerr << "onceguard: " << text << "\n";
  return code;
}

result<std::string> table_text(const std::string& path) {
  if (path.empty()) return std::string(conformance::standard_table());
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return error(errc::not_found, "can't be read");
  return text;
}

/// A name also stands for all of its variants.
bool is_named(const test_case& test, const std::string& name) {
  return test.name == name || test.name.starts_with(name + "/");
}

bool is_chosen(const test_case& test, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return is_named(test, name);
         });
}

int check_target(const conformance_request& request, const conformance::target& target,
                 const conformance::table& table) {
  const auto level = *conformance::level_of(request.level);
  if (const auto found = conformance::find_service(target); !found)
    return fail(exit_failed, "--target: " + found.error().detail);
  std::vector<conformance::case_report> reports;
  bool passed = true;
  for (const auto& test : table.cases) {
    const bool fits = std::find(test.levels.begin(), test.levels.end(), level) != test.levels.end();
    if (!fits || !is_chosen(test, request.names)) continue;
    reports.push_back({&test, conformance::run(target, test)});
    passed = passed && reports.back().differences.empty();
    if (!request.json) std::cout << conformance::case_text(reports.back()) << std::flush;
  }
  if (reports.empty()) return fail(exit_usage, "--only: no such case at this level");
  std::cout << (request.json ? conformance::report_json(request.target, level, reports)
                             : conformance::summary_text(reports));
  return passed ? exit_ok : exit_failed;
}

int run_conformance(const conformance_request& request) {
  const auto url = gateway::parse_http_url(request.target);
  if (!url) return fail(exit_usage, "--target: " + url.error().detail);
  if (url->path.find('?') != std::string::npos)
    return fail(exit_usage, "--target: expected a URL without a query");
  const auto text = table_text(request.spec);
  if (!text) return fail(exit_usage, "--spec: " + request.spec + ": " + text.error().detail);
  const auto table = conformance::read_table(*text);
  if (!table)
    return fail(exit_configuration, "--spec: " + request.spec + ": " + table.error().detail);
  for (const auto& name : request.names) {
    const bool known = std::any_of(table->cases.begin(), table->cases.end(),
                                   [&](const test_case& test) { return is_named(test, name); });
    if (!known) return fail(exit_usage, "--only: no case is called " + name);
  }
  return check_target(request, {.url = *url}, *table);
}

}  // namespace

void add_conformance_command(command app) {
  const auto added =
      app.add_command("conformance", "Check any server against the contract of Onceguard");
  const auto request = std::make_shared<conformance_request>();
  added.add_option("--target", request->target, "Where the server with its test service is")
      .type("URL")
      .required();
  added
      .add_option("--level", request->level,
                  "draft (the Internet-Draft alone), onceguard or transaction")
      .type("LEVEL")
      .one_of({"draft", "onceguard", "transaction"});
  added.add_option("--only", request->names, "A case, or one with all its variants; again for more")
      .type("NAME")
      .one_at_a_time();
  added.add_option("--spec", request->spec, "A table of cases; the built-in one otherwise")
      .type("FILE");
  added.add_flag("--json", request->json, "The report as one JSON document");
  added.footer(
      "docs/conformance.md describes the test service and the table.\n"
      "Ends with 0 if all cases passed, otherwise with 1.\n\n"
      "Example:\n"
      "  onceguard conformance --target http://127.0.0.1:8080 --level draft");
  added.runs([=] { return run_conformance(*request); });
}

}  // namespace onceguard::cli
