#include "conformance/cases.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/ascii.hpp"
#include "base/json_reader.hpp"
#include "http1/message.hpp"

namespace onceguard::conformance {
namespace {

using nlohmann::json;
using reader = base::json_reader<json>;

constexpr std::size_t size_max = 64u << 20;

/// The index of an earlier step, which the table counts from 1.
std::size_t step_of(const reader& value, std::size_t steps_before) {
  const auto number = value.number(0, steps_before);
  if (number == 0) value.refuse("steps count from 1");
  return static_cast<std::size_t>(number) - 1;
}

/// The 256 bytes that the test service answers with for `bytes`.
std::string all_bytes() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
  return out;
}

/// One value, or a list of them.
template <class Each>
void one_or_more(const reader& value, const Each& each) {
  if (value.json().is_array()) return value.each(each);
  each(value);
}

/// A text; { "size": N }: so many letters x, the last one `last`; { "bytes": true }.
std::string body_of(const reader& value) {
  if (!value.json().is_object()) return value.text();
  if (value.json() == json{{"bytes", true}}) return all_bytes();
  value.has_only({"size", "last"});
  std::string out(value.at("size").number(0, size_max), 'x');
  if (const auto last = value.find("last")) {
    if (last->text().size() != 1 || out.empty()) last->refuse("is no letter of the body");
    out.back() = last->text().front();
  }
  return out;
}

/// Milliseconds, or "long".
duration duration_of(const reader& value) {
  if (value.json() == "long") return {milliseconds{0}, true};
  return {milliseconds{value.number(0, 60'000)}, false};
}

std::string field_value_of(const reader& value) {
  auto out = value.text();
  if (!http1::is_field_value(out)) value.refuse("has control characters");
  return out;
}

name_and_value field_of(const reader& value) {
  auto out = value.pair();
  if (!http1::is_token(out.first)) value.refuse("the name is no token");
  if (!http1::is_field_value(out.second)) value.refuse("the value has control characters");
  return out;
}

void read_work(const reader& source, request_plan& out) {
  source.has_only({"status", "delay", "fields", "size", "bytes", "break"});
  auto work = source.json();
  if (const auto delay = source.find("delay")) out.delay = duration_of(*delay);
  work.erase("delay");
  out.work = work.dump(-1, ' ', true);
  out.wants_bytes = work.contains("bytes");
  if (const auto fields = source.find("fields")) {
    fields->each([&](const reader& one) { out.work_fields.push_back(field_of(one).first); });
  }
}

void read_keys(const reader& source, request_plan& out) {
  out.keys.clear();
  if (source.json().is_null()) return;
  one_or_more(source, [&](const reader& value) { out.keys.push_back(field_value_of(value)); });
}

request_plan request_of(const reader& source) {
  source.has_only({"method", "path", "key", "caller", "fields", "body", "chunked", "work"});
  request_plan out;
  source.take("method", out.method);
  if (!http1::is_token(out.method)) source.at("method").refuse("is no token");
  source.take("path", out.path);
  const bool visible =
      std::all_of(out.path.begin(), out.path.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!out.path.starts_with('/') || !visible) source.at("path").refuse("is no path");
  if (const auto key = source.find("key")) read_keys(*key, out);
  if (const auto caller = source.find("caller")) {
    out.caller.reset();
    if (!caller->json().is_null()) out.caller = field_value_of(*caller);
  }
  if (const auto fields = source.find("fields")) {
    out.fields.clear();
    fields->each([&](const reader& one) { out.fields.push_back(field_of(one)); });
  }
  if (const auto body = source.find("body")) out.body = body_of(*body);
  source.take("chunked", out.chunked);
  if (const auto work = source.find("work")) read_work(*work, out);
  return out;
}

field_rule field_rule_of(const std::string& name, const reader& value) {
  field_rule out{name, {}, false};
  if (value.json().is_object()) {
    value.has_only({"form"});
    const auto form = value.at("form");
    if (form.text() != "seconds") form.refuse("is not \"seconds\"");
    out.seconds = true;
  } else if (!value.json().is_null()) {
    one_or_more(value, [&](const reader& one) { out.values.push_back(one.text()); });
  }
  return out;
}

expectation expectation_of(const reader& source, std::size_t before) {
  source.has_only(
      {"status", "same_answer", "replay", "fields", "problem", "retryable", "body", "runs"});
  expectation out;
  if (const auto status = source.find("status")) {
    one_or_more(*status, [&](const reader& value) {
      out.statuses.push_back(static_cast<std::uint16_t>(value.number(0, 599)));
    });
  }
  if (const auto same = source.find("same_answer")) out.same_answer = step_of(*same, before);
  if (const auto replay = source.find("replay")) out.replay = step_of(*replay, before);
  if (const auto fields = source.find("fields")) {
    fields->members([&](const std::string& name, const reader& value) {
      out.fields.push_back(field_rule_of(name, value));
    });
  }
  source.take("problem", out.problem);
  source.take("retryable", out.retryable);
  if (const auto body = source.find("body")) out.body = body_of(*body);
  if (const auto runs = source.find("runs")) {
    one_or_more(*runs, [&](const reader& value) { out.runs.push_back(value.number(0, size_max)); });
  }
  return out;
}

/// The names of the acts that a step may have: it has one of them.
constexpr std::array<std::pair<const char*, step_kind>, 5> acts{{{"send", step_kind::send},
                                                                 {"start", step_kind::start},
                                                                 {"await", step_kind::await},
                                                                 {"leave", step_kind::leave},
                                                                 {"pause", step_kind::pause}}};

void read_act(const reader& source, const std::vector<step>& before, step& out) {
  const auto has = [&](const auto& act) { return source.find(act.first).has_value(); };
  const auto found = std::find_if(acts.begin(), acts.end(), has);
  if (std::count_if(acts.begin(), acts.end(), has) != 1)
    source.refuse("needs one of send, start, await, leave and pause");
  const auto value = source.at(found->first);
  out.kind = found->second;
  if (out.kind == step_kind::await) {
    out.awaited = step_of(value, before.size());
    if (before[out.awaited].kind != step_kind::start) source.refuse("that step was not started");
  } else if (out.kind == step_kind::pause) {
    out.pause = duration_of(value);
  } else {
    out.request = request_of(value);
  }
  if (out.kind == step_kind::start && source.find("expect"))
    source.refuse("the answer of start is expected by await");
  if (const auto ending = source.find("by")) {
    if (out.kind != step_kind::leave) source.refuse("by belongs to leave");
    const auto way = ending->text();
    if (way != "close" && way != "reset") ending->refuse("is neither close nor reset");
    out.reset = way == "reset";
  }
}

/// The fields of an earlier answer that are the service's own: a server adds others of its own,
/// which may differ each time.
std::vector<std::string> fields_of(const std::vector<step>& before, std::size_t earlier) {
  const auto& answered = before[earlier];
  const auto& request =
      answered.kind == step_kind::await ? before[answered.awaited].request : answered.request;
  std::vector<std::string> out{"Content-Type"};
  for (const auto& name : request.work_fields)
    if (!base::iequals(name, "Set-Cookie")) out.push_back(name);
  return out;
}

step step_of(const reader& source, const std::vector<step>& before) {
  source.has_only({"send", "start", "await", "leave", "by", "pause", "times", "expect"});
  step out;
  read_act(source, before, out);
  if (const auto times = source.find("times")) {
    if (out.kind != step_kind::send) source.refuse("times belongs to send");
    out.times = static_cast<std::size_t>(times->number(1, 100));
  }
  const auto expect = source.find("expect");
  if (!expect) return out;
  out.expected = expectation_of(*expect, before.size());
  for (const auto& earlier : {out.expected.same_answer, out.expected.replay}) {
    if (!earlier) continue;
    if (before[*earlier].kind == step_kind::start)
      expect->refuse("the answer of start is that of its await");
    if (before[*earlier].kind != step_kind::send && before[*earlier].kind != step_kind::await)
      expect->refuse("that step has no answer");
  }
  if (out.expected.replay) out.expected.replay_fields = fields_of(before, *out.expected.replay);
  return out;
}

test_case case_of(const reader& source) {
  source.has_only({"name", "levels", "strength", "rule", "says", "steps", "variants"});
  test_case out;
  out.name = source.at("name").text();
  out.strength = source.at("strength").text();
  if (out.strength != "MUST" && out.strength != "SHOULD")
    source.at("strength").refuse("is neither MUST nor SHOULD");
  out.rule = source.at("rule").text();
  out.says = source.at("says").text();
  source.at("levels").each([&](const reader& value) {
    const auto found = level_of(value.text());
    if (!found) value.refuse("is neither draft nor onceguard");
    out.levels.push_back(*found);
  });
  source.at("steps").each(
      [&](const reader& value) { out.steps.push_back(step_of(value, out.steps)); });
  if (out.steps.empty()) source.at("steps").refuse("is empty");
  return out;
}

/// Puts the variant's values in location of "{name}": a text that is nothing else becomes the
/// value.
void fill_in(json& value, const json& variant) {
  if (value.is_structured()) {
    for (auto& inner : value) fill_in(inner, variant);
    return;
  }
  if (!value.is_string()) return;
  auto text = value.get<std::string>();
  for (const auto& [name, filling] : variant.items()) {
    const auto mark = "{" + name + "}";
    if (text == mark) {
      value = filling;
      return;
    }
    const auto found = text.find(mark);
    if (found == text.npos) continue;
    text.replace(found, mark.size(),
                 filling.is_string() ? filling.get<std::string>() : filling.dump());
  }
  value = text;
}

void add_cases(const reader& source, std::vector<test_case>& cases) {
  const auto variants = source.find("variants");
  if (!variants) return cases.push_back(case_of(source));
  variants->each([&](const reader& variant) {
    auto filled = source.json();
    filled.erase("variants");
    const auto name = variant.at("name").text();
    fill_in(filled, variant.json());
    cases.push_back(case_of(variant.with(filled)));
    cases.back().name += "/" + name;
  });
}

}  // namespace

bool test_case::takes_long() const {
  return std::any_of(steps.begin(), steps.end(), [](const step& one) {
    return one.pause.is_long || one.request.delay.is_long;
  });
}

bool test_case::wants_bytes() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const step& one) { return one.request.wants_bytes; });
}

std::optional<level> level_of(std::string_view name) noexcept {
  for (const auto one : {level::draft, level::onceguard, level::transaction})
    if (name == name_of(one)) return one;
  return std::nullopt;
}

std::string_view name_of(level level) noexcept {
  if (level == level::draft) return "draft";
  return level == level::onceguard ? "onceguard" : "transaction";
}

result<table> read_table(std::string_view text) {
  return base::read_json<json>(text, "the table", [](const reader& source) {
    source.has_only({"version", "cases"});
    table out;
    out.version = source.at("version").number(0, 1u << 30);
    if (out.version != table_version) {
      source.at("version").refuse("this program reads version " + std::to_string(table_version));
    }
    source.at("cases").each([&](const reader& one) { add_cases(one, out.cases); });
    for (auto one = out.cases.begin(); one != out.cases.end(); ++one)
      for (auto other = out.cases.begin(); other != one; ++other)
        if (one->name == other->name) source.at("cases").refuse("two are called " + one->name);
    return out;
  });
}

}  // namespace onceguard::conformance
