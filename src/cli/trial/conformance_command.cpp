#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/command.hpp"
#include "conformance/report.hpp"
#include "conformance/runner.hpp"

namespace onceguard::cli::trial {
namespace {

using conformance::test_case;

struct conformance_request {
  std::string target;
  std::string spec;
  std::string level = "onceguard";
  std::vector<std::string> names;
  std::size_t jobs = 1;
  std::size_t long_work = 12;  ///< seconds
  bool json = false;
};

int fail_conformance(int code, const std::string& text) {
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

std::vector<const test_case*> chosen_cases(const conformance_request& request,
                                           const conformance::table& table) {
  const auto level = *conformance::level_of(request.level);
  std::vector<const test_case*> out;
  for (const auto& test : table.cases) {
    const bool fits = std::find(test.levels.begin(), test.levels.end(), level) != test.levels.end();
    if (fits && is_chosen(test, request.names)) out.push_back(&test);
  }
  return out;
}

/// Runs cases on threads: those that mostly wait at once, the others some at a time.
class crew {
 public:
  crew(const conformance::target& target, const std::vector<const test_case*>& cases,
       std::size_t jobs)
      : target_(target), cases_(cases), promises_(cases.size()) {
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (cases[i]->takes_long())
        threads_.push_back(std::async(std::launch::async, [this, i] { report(i); }));
    for (std::size_t i = 0; i < jobs; ++i)
      threads_.push_back(std::async(std::launch::async, [this] { work(); }));
  }

  conformance::case_report result_of(std::size_t index) {
    return promises_[index].get_future().get();
  }

 private:
  void work() {
    for (auto i = next_++; i < cases_.size(); i = next_++)
      if (!cases_[i]->takes_long()) report(i);
  }

  void report(std::size_t index) {
    const auto& test = *cases_[index];
    if (test.wants_bytes() && !target_.answers_bytes)
      return promises_[index].set_value(
          {&test, {}, "the test service does not know `bytes` (docs/conformance.md)"});
    promises_[index].set_value({&test, conformance::run(target_, test), {}});
  }

  const conformance::target& target_;
  const std::vector<const test_case*>& cases_;
  std::vector<std::promise<conformance::case_report>> promises_;
  std::atomic<std::size_t> next_{0};
  std::vector<std::future<void>> threads_;  ///< last: it waits for them
};

int check_target(const conformance_request& request, const conformance::target& service,
                 const conformance::table& table) {
  const auto target = conformance::known(service);
  if (!target) return fail_conformance(exit_failed, "--target: " + target.error().detail);
  const auto cases = chosen_cases(request, table);
  if (cases.empty()) return fail_conformance(exit_usage, "--only: no such case at this level");
  crew crew(*target, cases, request.jobs);
  std::vector<conformance::case_report> reports;
  bool passed = true;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    reports.push_back(crew.result_of(i));
    passed = passed && reports.back().differences.empty();
    if (!request.json) std::cout << conformance::case_text(reports.back()) << std::flush;
  }
  const auto level = *conformance::level_of(request.level);
  std::cout << (request.json ? conformance::report_json(request.target, level, reports)
                             : conformance::summary_text(reports));
  return passed ? exit_ok : exit_failed;
}

int run_conformance(const conformance_request& request) {
  const auto url = base::parse_http_url(request.target);
  if (!url) return fail_conformance(exit_usage, "--target: " + url.error().detail);
  if (url->path.find('?') != std::string::npos)
    return fail_conformance(exit_usage, "--target: expected a URL without a query");
  const auto text = table_text(request.spec);
  if (!text)
    return fail_conformance(exit_usage, "--spec: " + request.spec + ": " + text.error().detail);
  const auto table = conformance::read_table(*text);
  if (!table)
    return fail_conformance(exit_configuration,
                            "--spec: " + request.spec + ": " + table.error().detail);
  for (const auto& name : request.names) {
    const bool known = std::any_of(table->cases.begin(), table->cases.end(),
                                   [&](const test_case& test) { return is_named(test, name); });
    if (!known) return fail_conformance(exit_usage, "--only: no case is called " + name);
  }
  const std::chrono::seconds long_work(request.long_work);
  return check_target(request, {.url = *url, .long_work = long_work}, *table);
}

}  // namespace

void add_conformance_command(const command& added) {
  const auto request = std::make_shared<conformance_request>();
  added.add(
      {{"--target", &request->target, "Where the server with its test service is", required("URL")},
       {"--level", &request->level, "draft (the Internet-Draft alone), onceguard or transaction",
        any_of({"draft", "onceguard", "transaction"}, "LEVEL")},
       {"--only", &request->names, "A case, or one with all its variants; again for more",
        typed("NAME")},
       {"--long-work", &request->long_work,
        "What the longest work takes: a lock or record that ends earlier is found",
        between(1, 600, "SECONDS")},
       {"--jobs", &request->jobs, "So many cases at a time", between(1, 32, "NUMBER")},
       {"--spec", &request->spec, "A table of cases; the built-in one otherwise", typed("FILE")},
       {"--json", &request->json, "The report as one JSON document"}});
  added.runs([=] { return run_conformance(*request); });
}

}  // namespace onceguard::cli::trial
