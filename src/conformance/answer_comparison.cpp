#include "conformance/answer_comparison.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/json_reader.hpp"

namespace onceguard::conformance {
namespace {

using nlohmann::json;

constexpr std::size_t text_size_max = 200;

std::string shortened(const std::string& text) {
  if (text.size() <= text_size_max) return text;
  return text.substr(0, text_size_max) + "… (" + std::to_string(text.size()) + " bytes)";
}

std::string status_text(std::uint16_t status) {
  return status == 0 ? "no answer" : std::to_string(status);
}

std::vector<std::string> values_of(const http1::answer& answer, std::string_view name) {
  std::vector<std::string> out;
  for (const auto& [field, value] : answer.fields)
    if (base::iequals(field, name)) out.push_back(value);
  return out;
}

std::string values_text(const std::vector<std::string>& values) {
  if (values.empty()) return "absent";
  std::string out = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) out += " | " + values[i];
  return out;
}

/// Without its parameters, in small letters.
std::string media_type(const std::vector<std::string>& values) {
  if (values.size() != 1) return values_text(values);
  auto type = values[0].substr(0, values[0].find(';'));
  type.erase(type.find_last_not_of(" \t") + 1);
  std::transform(type.begin(), type.end(), type.begin(), base::ascii_lower);
  return type;
}

bool is_seconds(const std::vector<std::string>& values) {
  if (values.size() != 1 || values[0].empty() || values[0].size() > 9) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return values[0][0] != '0' && std::all_of(values[0].begin(), values[0].end(), is_digit);
}

/// One comparison of one answer.
class comparison {
 public:
  comparison(const http1::answer& answer, std::size_t step, std::vector<difference>& out)
      : answer_(answer), step_(step), out_(out) {}

  void statuses(const std::vector<std::uint16_t>& allowed) {
    if (std::find(allowed.begin(), allowed.end(), answer_.status) != allowed.end()) return;
    std::string expected;
    for (const auto one : allowed) expected += (expected.empty() ? "" : " or ") + status_text(one);
    add("status", expected, status_text(answer_.status));
  }

  void same_answer(const http1::answer& first) {
    equal("status", status_text(first.status), status_text(answer_.status));
    equal("body", first.body, answer_.body);
  }

  void replay(const http1::answer& first, const std::vector<std::string>& names) {
    same_answer(first);
    for (const auto& name : names)
      equal("field " + name, values_text(values_of(first, name)),
            values_text(values_of(answer_, name)));
  }

  void field(const field_rule& rule) {
    const auto values = values_of(answer_, rule.name);
    const bool fits = rule.seconds ? is_seconds(values) : values == rule.values;
    if (fits) return;
    add("field " + rule.name, rule.seconds ? "whole seconds" : values_text(rule.values),
        values_text(values));
  }

  /// RFC 9457: all members but the type may be missing.
  void problem(const std::string& name, std::optional<bool> retryable) {
    equal("field Content-Type", "application/problem+json",
          media_type(values_of(answer_, "Content-Type")));
    const auto document = json::parse(answer_.body, nullptr, false);
    if (!document.is_object()) return add("body", "a problem document", answer_.body);
    const auto type = base::text_in(document, "type");
    const auto last = type.find_last_of(":/");
    equal("type of the problem", name, last == type.npos ? type : type.substr(last + 1));
    if (document.contains("status"))
      equal("status in the problem", status_text(answer_.status), document["status"].dump());
    for (const auto* member : {"title", "detail"})
      if (document.contains(member) && base::text_in(document, member).empty())
        add(member + std::string(" of the problem"), "a text", document[member].dump());
    if (retryable)
      equal("retryable of the problem", json(*retryable).dump(),
            document.value("retryable", json()).dump());
  }

  void equal(const std::string& subject, const std::string& expected, const std::string& got) {
    if (expected != got) add(subject, expected, got);
  }

 private:
  void add(const std::string& subject, const std::string& expected, const std::string& got) {
    out_.push_back({step_, subject, shortened(expected), shortened(got)});
  }

  const http1::answer& answer_;
  std::size_t step_;
  std::vector<difference>& out_;
};

}  // namespace

void compare(const expectation& expected, const http1::answer& answer,
             std::span<const http1::answer> earlier, std::size_t step,
             std::vector<difference>& differences) {
  comparison compared(answer, step, differences);
  if (!expected.statuses.empty()) compared.statuses(expected.statuses);
  if (expected.same_answer) compared.same_answer(earlier[*expected.same_answer]);
  if (expected.replay) {
    compared.replay(earlier[*expected.replay], expected.replay_fields);
  }
  for (const auto& rule : expected.fields) compared.field(rule);
  if (!expected.problem.empty()) compared.problem(expected.problem, expected.retryable);
  if (expected.body) compared.equal("body", *expected.body, answer.body);
}

}  // namespace onceguard::conformance
