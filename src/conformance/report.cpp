#include "conformance/report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "text/terminal_text.hpp"

namespace onceguard::conformance {
namespace {

using nlohmann::json;

std::size_t skipped_in(const std::vector<case_report>& reports) {
  return static_cast<std::size_t>(std::count_if(
      reports.begin(), reports.end(), [](const auto& one) { return !one.skipped.empty(); }));
}

std::size_t failures_in(const std::vector<case_report>& reports) {
  return static_cast<std::size_t>(std::count_if(
      reports.begin(), reports.end(), [](const auto& one) { return !one.differences.empty(); }));
}

json difference_json(const difference& one) {
  return {
      {"step", one.step}, {"subject", one.subject}, {"expected", one.expected}, {"got", one.got}};
}

}  // namespace

std::string case_text(const case_report& report) {
  const auto& test = *report.test;
  if (!report.skipped.empty()) return "skip " + test.name + ": " + report.skipped + "\n";
  if (report.differences.empty()) return "pass " + test.name + "\n";
  std::string out = "FAIL " + test.name + "\n     " + test.says + "\n     " + test.strength + ", " +
                    test.rule + "\n";
  for (const auto& one : report.differences)
    out += "     step " + std::to_string(one.step) + ", " + one.subject + ": expected " +
           plain_text(one.expected) + ", got " + plain_text(one.got) + "\n";
  return out;
}

std::string summary_text(const std::vector<case_report>& reports) {
  const auto failed = failures_in(reports);
  const auto skipped = skipped_in(reports);
  const auto passed = reports.size() - failed - skipped;
  return std::to_string(reports.size()) + " cases: " + std::to_string(passed) + " passed, " +
         std::to_string(failed) + " failed" +
         (skipped == 0 ? "" : ", " + std::to_string(skipped) + " not checked") + "\n";
}

std::string report_json(const std::string& target, level level,
                        const std::vector<case_report>& reports) {
  const auto failed = failures_in(reports);
  const auto skipped = skipped_in(reports);
  json cases = json::array();
  for (const auto& report : reports) {
    json differences = json::array();
    for (const auto& one : report.differences) differences.push_back(difference_json(one));
    cases.push_back({{"name", report.test->name},
                     {"strength", report.test->strength},
                     {"rule", report.test->rule},
                     {"says", report.test->says},
                     {"passed", report.differences.empty()},
                     {"differences", std::move(differences)}});
    if (!report.skipped.empty()) cases.back()["skipped"] = report.skipped;
  }
  const json document{
      {"version", table_version},
      {"target", target},
      {"level", name_of(level)},
      {"cases", std::move(cases)},
      {"summary",
       {{"passed", reports.size() - failed - skipped}, {"failed", failed}, {"skipped", skipped}}}};
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace onceguard::conformance
