#include "conformance/table.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/field.hpp"
#include "base/json_member.hpp"
#include "http1/message.hpp"

namespace onceguard::conformance {
namespace {

using base::check_members;
using base::malformed_json;
using base::refuse_json;
using nlohmann::json;

constexpr std::size_t size_max = 64u << 20;

std::string text_of(const json& value, const std::string& where) {
  if (!value.is_string()) refuse_json(where, "is no text");
  return value.get<std::string>();
}

std::uint64_t number_of(const json& value, const std::string& where, std::uint64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    refuse_json(where, "is no whole number up to " + std::to_string(most));
  return value.get<std::uint64_t>();
}

bool flag_of(const json& value, const std::string& where) {
  if (!value.is_boolean()) refuse_json(where, "is neither true nor false");
  return value.get<bool>();
}

/// The index of an earlier step, which the table counts from 1.
std::size_t step_of(const json& value, const std::string& where, std::size_t steps_before) {
  const auto number = number_of(value, where, steps_before);
  if (number == 0) refuse_json(where, "steps count from 1");
  return static_cast<std::size_t>(number) - 1;
}

template <class Each>
void for_each(const json& list, const std::string& where, const Each& each) {
  if (!list.is_array()) refuse_json(where, "is no list");
  for (std::size_t i = 0; i < list.size(); ++i)
    each(list[i], where + "[" + std::to_string(i) + "]");
}

/// The 256 bytes that the test service answers with for `bytes`.
std::string all_bytes() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
  return out;
}

/// One value, or a list of them.
template <class Each>
void one_or_more(const json& value, const std::string& where, const Each& each) {
  if (value.is_array()) return for_each(value, where, each);
  each(value, where);
}

/// A text; { "size": N }: so many letters x, the last one `last`; { "bytes": true }.
std::string body_of(const json& value, const std::string& where) {
  if (!value.is_object()) return text_of(value, where);
  if (value == json{{"bytes", true}}) return all_bytes();
  check_members(value, where, {"size", "last"});
  std::string out(number_of(value.value("size", json()), where + ".size", size_max), 'x');
  if (!value.contains("last")) return out;
  const auto last = text_of(value["last"], where + ".last");
  if (last.size() != 1 || out.empty()) refuse_json(where + ".last", "is no letter of the body");
  out.back() = last.front();
  return out;
}

/// Milliseconds, or "long".
duration duration_of(const json& value, const std::string& where) {
  if (value == "long") return {milliseconds{0}, true};
  return {milliseconds{number_of(value, where, 60'000)}, false};
}

name_and_value field_of(const json& value, const std::string& where) {
  if (!value.is_array() || value.size() != 2) refuse_json(where, "is no pair of name and value");
  name_and_value out{text_of(value[0], where), text_of(value[1], where)};
  if (!http1::is_token(out.first)) refuse_json(where, "the name is no token");
  if (!http1::is_field_value(out.second)) refuse_json(where, "the value has control characters");
  return out;
}

void read_work(const json& source, const std::string& where, request_plan& out) {
  check_members(source, where, {"status", "delay", "fields", "size", "bytes", "break"});
  auto work = source;
  if (work.contains("delay")) out.delay = duration_of(work["delay"], where + ".delay");
  work.erase("delay");
  out.work = work.dump(-1, ' ', true);
  out.wants_bytes = work.contains("bytes");
  for_each(work.value("fields", json::array()), where + ".fields",
           [&](const json& value, const std::string& location) {
             out.work_fields.push_back(field_of(value, location).first);
           });
}

void read_keys(const json& source, const std::string& where, request_plan& out) {
  out.keys.clear();
  const auto add = [&](const json& value, const std::string& location) {
    out.keys.push_back(text_of(value, location));
    if (!http1::is_field_value(out.keys.back())) refuse_json(location, "has control characters");
  };
  if (source.is_array()) for_each(source, where, add);
  if (!source.is_array() && !source.is_null()) add(source, where);
}

request_plan request_of(const json& source, const std::string& where) {
  check_members(source, where,
                {"method", "path", "key", "caller", "fields", "body", "chunked", "work"});
  request_plan out;
  if (source.contains("method")) out.method = text_of(source["method"], where + ".method");
  if (!http1::is_token(out.method)) refuse_json(where + ".method", "is no token");
  if (source.contains("path")) out.path = text_of(source["path"], where + ".path");
  const bool visible =
      std::all_of(out.path.begin(), out.path.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!out.path.starts_with('/') || !visible) refuse_json(where + ".path", "is no path");
  if (source.contains("key")) read_keys(source["key"], where + ".key", out);
  if (source.contains("caller")) {
    out.caller.reset();
    if (!source["caller"].is_null()) out.caller = text_of(source["caller"], where + ".caller");
    if (out.caller && !http1::is_field_value(*out.caller))
      refuse_json(where + ".caller", "has control characters");
  }
  if (source.contains("fields")) {
    out.fields.clear();
    for_each(source["fields"], where + ".fields",
             [&](const json& value, const std::string& location) {
               out.fields.push_back(field_of(value, location));
             });
  }
  if (source.contains("body")) out.body = body_of(source["body"], where + ".body");
  if (source.contains("chunked")) out.chunked = flag_of(source["chunked"], where + ".chunked");
  if (source.contains("work")) read_work(source["work"], where + ".work", out);
  return out;
}

field_rule field_rule_of(const std::string& name, const json& value, const std::string& where) {
  field_rule out{name, {}, false};
  if (value.is_object()) {
    check_members(value, where, {"form"});
    if (value.value("form", json()) != "seconds")
      refuse_json(where + ".form", "is not \"seconds\"");
    out.seconds = true;
  } else if (value.is_array()) {
    for_each(value, where, [&](const json& one, const std::string& location) {
      out.values.push_back(text_of(one, location));
    });
  } else if (!value.is_null()) {
    out.values.push_back(text_of(value, where));
  }
  return out;
}

expectation expectation_of(const json& source, const std::string& where, std::size_t before) {
  check_members(
      source, where,
      {"status", "same_answer", "replay", "fields", "problem", "retryable", "body", "runs"});
  expectation out;
  if (source.contains("status"))
    one_or_more(
        source["status"], where + ".status", [&](const json& value, const std::string& location) {
          out.statuses.push_back(static_cast<std::uint16_t>(number_of(value, location, 599)));
        });
  if (source.contains("same_answer"))
    out.same_answer = step_of(source["same_answer"], where + ".same_answer", before);
  if (source.contains("replay")) out.replay = step_of(source["replay"], where + ".replay", before);
  if (source.contains("fields")) {
    if (!source["fields"].is_object()) refuse_json(where + ".fields", "is no object");
    for (const auto& [name, value] : source["fields"].items())
      out.fields.push_back(field_rule_of(name, value, where + ".fields." + name));
  }
  if (source.contains("problem")) out.problem = text_of(source["problem"], where + ".problem");
  if (source.contains("retryable"))
    out.retryable = flag_of(source["retryable"], where + ".retryable");
  if (source.contains("body")) out.body = body_of(source["body"], where + ".body");
  if (source.contains("runs"))
    one_or_more(source["runs"], where + ".runs",
                [&](const json& value, const std::string& location) {
                  out.runs.push_back(number_of(value, location, size_max));
                });
  return out;
}

/// The names of the acts that a step may have: it has one of them.
constexpr std::array<std::pair<const char*, step_kind>, 5> acts{{{"send", step_kind::send},
                                                                 {"start", step_kind::start},
                                                                 {"await", step_kind::await},
                                                                 {"leave", step_kind::leave},
                                                                 {"pause", step_kind::pause}}};

void read_act(const json& source, const std::string& where, const std::vector<step>& before,
              step& out) {
  const auto has = [&](const auto& act) { return source.contains(act.first); };
  const auto found = std::find_if(acts.begin(), acts.end(), has);
  if (std::count_if(acts.begin(), acts.end(), has) != 1)
    refuse_json(where, "needs one of send, start, await, leave and pause");
  const auto& value = source[found->first];
  const auto location = where + "." + found->first;
  out.kind = found->second;
  if (out.kind == step_kind::await) {
    out.awaited = step_of(value, location, before.size());
    if (before[out.awaited].kind != step_kind::start)
      refuse_json(where, "that step was not started");
  } else if (out.kind == step_kind::pause) {
    out.pause = duration_of(value, location);
  } else {
    out.request = request_of(value, location);
  }
  if (out.kind == step_kind::start && source.contains("expect"))
    refuse_json(where, "the answer of start is expected by await");
  if (source.contains("by")) {
    if (out.kind != step_kind::leave) refuse_json(where, "by belongs to leave");
    const auto way = text_of(source["by"], where + ".by");
    if (way != "close" && way != "reset") refuse_json(where + ".by", "is neither close nor reset");
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

step step_of(const json& source, const std::string& where, const std::vector<step>& before) {
  check_members(source, where,
                {"send", "start", "await", "leave", "by", "pause", "times", "expect"});
  step out;
  read_act(source, where, before, out);
  if (source.contains("times")) {
    if (out.kind != step_kind::send) refuse_json(where, "times belongs to send");
    out.times = static_cast<std::size_t>(number_of(source["times"], where + ".times", 100));
    if (out.times == 0) refuse_json(where, "times is 0");
  }
  out.expected =
      expectation_of(source.value("expect", json::object()), where + ".expect", before.size());
  for (const auto& earlier : {out.expected.same_answer, out.expected.replay}) {
    if (!earlier) continue;
    if (before[*earlier].kind == step_kind::start)
      refuse_json(where + ".expect", "the answer of start is that of its await");
    if (before[*earlier].kind != step_kind::send && before[*earlier].kind != step_kind::await)
      refuse_json(where + ".expect", "that step has no answer");
  }
  if (out.expected.replay) out.expected.replay_fields = fields_of(before, *out.expected.replay);
  return out;
}

test_case case_of(const json& source, const std::string& where) {
  check_members(source, where, {"name", "levels", "strength", "rule", "says", "steps", "variants"});
  test_case out;
  const auto text = [&](const char* name) {
    return text_of(source.value(name, json()), where + "." + name);
  };
  out.name = text("name");
  out.strength = text("strength");
  if (out.strength != "MUST" && out.strength != "SHOULD")
    refuse_json(where + ".strength", "is neither MUST nor SHOULD");
  out.rule = text("rule");
  out.says = text("says");
  for_each(source.value("levels", json()), where + ".levels",
           [&](const json& value, const std::string& location) {
             const auto found = level_of(text_of(value, location));
             if (!found) refuse_json(location, "is neither draft nor onceguard");
             out.levels.push_back(*found);
           });
  for_each(source.value("steps", json()), where + ".steps",
           [&](const json& value, const std::string& location) {
             out.steps.push_back(step_of(value, location, out.steps));
           });
  if (out.steps.empty()) refuse_json(where + ".steps", "is empty");
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

void add_cases(const json& source, const std::string& where, std::vector<test_case>& cases) {
  if (!source.is_object() || !source.contains("variants")) {
    cases.push_back(case_of(source, where));
    return;
  }
  for_each(source["variants"], where + ".variants",
           [&](const json& variant, const std::string& location) {
             if (!variant.is_object()) refuse_json(location, "is no object");
             auto filled = source;
             filled.erase("variants");
             fill_in(filled, variant);
             cases.push_back(case_of(filled, location));
             cases.back().name += "/" + text_of(variant.value("name", json()), location + ".name");
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
  const auto document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return error(errc::invalid_argument, "is no JSON");
  try {
    check_members(document, "the table", {"version", "cases"});
    table out;
    out.version = number_of(document.value("version", json()), "version", 1u << 30);
    if (out.version != table_version)
      refuse_json("version", "this program reads version " + std::to_string(table_version));
    for_each(document.value("cases", json()), "cases",
             [&](const json& value, const std::string& location) {
               add_cases(value, location, out.cases);
             });
    for (auto one = out.cases.begin(); one != out.cases.end(); ++one)
      for (auto other = out.cases.begin(); other != one; ++other)
        if (one->name == other->name) refuse_json("cases", "two are called " + one->name);
    return out;
  } catch (const malformed_json& fault) {
    return error(errc::invalid_argument, fault.text);
  }
}

}  // namespace onceguard::conformance
