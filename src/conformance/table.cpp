#include "conformance/table.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "http1/message.hpp"

namespace onceguard::conformance {
namespace {

using nlohmann::json;

constexpr std::size_t size_max = 64u << 20;

/// A table that can't be used. Never leaves read_table().
struct malformed {
  std::string text;
};

[[noreturn]] void refuse(const std::string& where, const std::string& fault) {
  throw malformed{where + ": " + fault};
}

void check_members(const json& object, const std::string& where,
                   std::initializer_list<std::string_view> known) {
  if (!object.is_object()) refuse(where, "is no object");
  for (const auto& [name, value] : object.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      refuse(where, "unknown member " + name);
}

std::string text_of(const json& value, const std::string& where) {
  if (!value.is_string()) refuse(where, "is no text");
  return value.get<std::string>();
}

std::uint64_t number_of(const json& value, const std::string& where, std::uint64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    refuse(where, "is no whole number up to " + std::to_string(most));
  return value.get<std::uint64_t>();
}

/// The index of an earlier step, which the table counts from 1.
std::size_t step_of(const json& value, const std::string& where, std::size_t steps_before) {
  const auto number = number_of(value, where, steps_before);
  if (number == 0) refuse(where, "steps count from 1");
  return static_cast<std::size_t>(number) - 1;
}

template <class Each>
void for_each(const json& list, const std::string& where, const Each& each) {
  if (!list.is_array()) refuse(where, "is no list");
  for (std::size_t i = 0; i < list.size(); ++i)
    each(list[i], where + "[" + std::to_string(i) + "]");
}

/// A text, or { "size": N }: so many bytes.
std::string body_of(const json& value, const std::string& where) {
  if (!value.is_object()) return text_of(value, where);
  check_members(value, where, {"size"});
  return std::string(number_of(value.value("size", json()), where + ".size", size_max), 'x');
}

name_and_value field_of(const json& value, const std::string& where) {
  if (!value.is_array() || value.size() != 2) refuse(where, "is no pair of name and value");
  name_and_value out{text_of(value[0], where), text_of(value[1], where)};
  if (!http1::is_token(out.first)) refuse(where, "the name is no token");
  if (!http1::is_field_value(out.second)) refuse(where, "the value has control characters");
  return out;
}

request_plan request_of(const json& source, const std::string& where) {
  check_members(source, where, {"method", "path", "key", "fields", "body", "work"});
  request_plan out;
  out.keys = {"\"{key}\""};
  out.fields = {{"Content-Type", "application/json"}};
  out.body = R"({"amount":100})";
  if (source.contains("method")) out.method = text_of(source["method"], where + ".method");
  if (!http1::is_token(out.method)) refuse(where + ".method", "is no token");
  if (source.contains("path")) out.path = text_of(source["path"], where + ".path");
  const bool visible =
      std::all_of(out.path.begin(), out.path.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!out.path.starts_with('/') || !visible) refuse(where + ".path", "is no path");
  if (source.contains("key")) {
    const auto& key = source["key"];
    out.keys.clear();
    const auto add = [&](const json& value, const std::string& location) {
      out.keys.push_back(text_of(value, location));
      if (!http1::is_field_value(out.keys.back())) refuse(location, "has control characters");
    };
    if (key.is_array()) for_each(key, where + ".key", add);
    if (!key.is_array() && !key.is_null()) add(key, where + ".key");
  }
  if (source.contains("fields")) {
    out.fields.clear();
    for_each(source["fields"], where + ".fields",
             [&](const json& value, const std::string& location) {
               out.fields.push_back(field_of(value, location));
             });
  }
  if (source.contains("body")) out.body = body_of(source["body"], where + ".body");
  if (source.contains("work")) {
    check_members(source["work"], where + ".work", {"status", "delay", "fields", "size", "break"});
    out.work = source["work"].dump(-1, ' ', true);
  }
  return out;
}

field_rule field_rule_of(const std::string& name, const json& value, const std::string& where) {
  field_rule out{name, {}, false};
  if (value.is_object()) {
    check_members(value, where, {"form"});
    if (value.value("form", json()) != "seconds") refuse(where + ".form", "is not \"seconds\"");
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
  if (source.contains("status")) {
    const auto add = [&](const json& value, const std::string& location) {
      out.statuses.push_back(static_cast<std::uint16_t>(number_of(value, location, 599)));
    };
    if (source["status"].is_array())
      for_each(source["status"], where + ".status", add);
    else
      add(source["status"], where + ".status");
  }
  if (source.contains("same_answer"))
    out.same_answer = step_of(source["same_answer"], where + ".same_answer", before);
  if (source.contains("replay")) out.replay = step_of(source["replay"], where + ".replay", before);
  if (source.contains("fields")) {
    if (!source["fields"].is_object()) refuse(where + ".fields", "is no object");
    for (const auto& [name, value] : source["fields"].items())
      out.fields.push_back(field_rule_of(name, value, where + ".fields." + name));
  }
  if (source.contains("problem")) out.problem = text_of(source["problem"], where + ".problem");
  if (source.contains("retryable")) {
    if (!source["retryable"].is_boolean())
      refuse(where + ".retryable", "is neither true nor false");
    out.retryable = source["retryable"].get<bool>();
  }
  if (source.contains("body")) out.body = body_of(source["body"], where + ".body");
  if (source.contains("runs")) out.runs = number_of(source["runs"], where + ".runs", size_max);
  return out;
}

step step_of(const json& source, const std::string& where, const std::vector<step>& before) {
  check_members(source, where, {"send", "start", "await", "times", "expect"});
  if (source.contains("send") + source.contains("start") + source.contains("await") != 1)
    refuse(where, "needs one of send, start and await");
  step out;
  if (source.contains("send")) {
    out.request = request_of(source["send"], where + ".send");
  } else if (source.contains("start")) {
    out.kind = step_kind::start;
    out.request = request_of(source["start"], where + ".start");
    if (source.contains("expect")) refuse(where, "the answer of start is expected by await");
  } else {
    out.kind = step_kind::await;
    out.awaited = step_of(source["await"], where + ".await", before.size());
    if (before[out.awaited].kind != step_kind::start) refuse(where, "that step was not started");
  }
  if (source.contains("times")) {
    if (out.kind != step_kind::send) refuse(where, "times belongs to send");
    out.times = static_cast<std::size_t>(number_of(source["times"], where + ".times", 100));
    if (out.times == 0) refuse(where, "times is 0");
  }
  out.expected =
      expectation_of(source.value("expect", json::object()), where + ".expect", before.size());
  for (const auto& earlier : {out.expected.same_answer, out.expected.replay})
    if (earlier && before[*earlier].kind == step_kind::start)
      refuse(where + ".expect", "the answer of start is that of its await");
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
    refuse(where + ".strength", "is neither MUST nor SHOULD");
  out.rule = text("rule");
  out.says = text("says");
  for_each(source.value("levels", json()), where + ".levels",
           [&](const json& value, const std::string& location) {
             const auto found = level_of(text_of(value, location));
             if (!found) refuse(location, "is neither draft nor onceguard");
             out.levels.push_back(*found);
           });
  for_each(source.value("steps", json()), where + ".steps",
           [&](const json& value, const std::string& location) {
             out.steps.push_back(step_of(value, location, out.steps));
           });
  if (out.steps.empty()) refuse(where + ".steps", "is empty");
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
             if (!variant.is_object()) refuse(location, "is no object");
             auto filled = source;
             filled.erase("variants");
             fill_in(filled, variant);
             cases.push_back(case_of(filled, location));
             cases.back().name += "/" + text_of(variant.value("name", json()), location + ".name");
           });
}

}  // namespace

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
      refuse("version", "this program reads version " + std::to_string(table_version));
    for_each(document.value("cases", json()), "cases",
             [&](const json& value, const std::string& location) {
               add_cases(value, location, out.cases);
             });
    for (auto one = out.cases.begin(); one != out.cases.end(); ++one)
      for (auto other = out.cases.begin(); other != one; ++other)
        if (one->name == other->name) refuse("cases", "two are called " + one->name);
    return out;
  } catch (const malformed& fault) {
    return error(errc::invalid_argument, fault.text);
  }
}

}  // namespace onceguard::conformance
