#include "advise/table.hpp"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace onceguard::advise {
namespace {

using base::check_members;
using base::malformed_json;
using base::refuse_json;
using json = nlohmann::ordered_json;  // answers are asked in the order of the file

const json& member_of(const json& object, const std::string& where, const char* name) {
  if (!object.is_object()) refuse_json(where, "is no object");
  if (!object.contains(name)) refuse_json(where, std::string(name) + " is missing");
  return object[name];
}

std::string text_of(const json& object, const std::string& where, const char* name) {
  const auto& value = member_of(object, where, name);
  if (!value.is_string() || value.get<std::string>().empty()) {
    refuse_json(where, std::string(name) + " is no text");
  }
  return value.get<std::string>();
}

std::vector<std::string> lines_of(const json& object, const std::string& where, const char* name) {
  const auto& value = member_of(object, where, name);
  if (!value.is_array() || value.empty()) refuse_json(where, std::string(name) + " is no list");
  std::vector<std::string> out;
  for (const auto& line : value) {
    if (!line.is_string()) refuse_json(where, std::string(name) + " has what is no text");
    out.push_back(line.get<std::string>());
  }
  return out;
}

template <class Named>
std::optional<std::size_t> index_of(const std::vector<Named>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

template <class Named>
std::size_t find(const std::vector<Named>& all, const std::string& name, const std::string& where) {
  const auto found = index_of(all, name);
  if (!found) refuse_json(where, "there is no " + name);
  return *found;
}

advice read_advice(const std::string& name, const json& source) {
  const auto where = "advice." + name;
  check_members(source, where, {"title", "because", "language", "begin", "not", "page"});
  return {name,
          text_of(source, where, "title"),
          text_of(source, where, "because"),
          text_of(source, where, "language"),
          lines_of(source, where, "begin"),
          lines_of(source, where, "not"),
          text_of(source, where, "page")};
}

/// Sets the choices of a question whose name is known.
void read_choices(table& all, question& entry, const json& source) {
  const auto where = "questions." + entry.name;
  check_members(source, where, {"text", "answers"});
  entry.text = text_of(source, where, "text");
  const auto& answers = member_of(source, where, "answers");
  if (!answers.is_object() || answers.size() < 2) refuse_json(where, "has fewer than two answers");
  for (const auto& [name, answer] : answers.items()) {
    const auto here = where + "." + name;
    check_members(answer, here, {"text", "next", "advice"});
    choice made{name, text_of(answer, here, "text"), 0, answer.contains("advice")};
    if (made.ends == answer.contains("next")) refuse_json(here, "has not one of next and advice");
    made.next = made.ends ? find(all.advices, text_of(answer, here, "advice"), here)
                          : find(all.questions, text_of(answer, here, "next"), here);
    entry.choices.push_back(std::move(made));
  }
}

/// Follows every way through the table.
class walk {
 public:
  explicit walk(const table& all)
      : all_(all), reached_(all.questions.size()), given_(all.advices.size()) {}

  void check() {
    visit(all_.first);
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      if (!reached_[i]) refuse_json("questions." + all_.questions[i].name, "nothing leads to it");
    }
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (!given_[i]) refuse_json("advice." + all_.advices[i].name, "nothing leads to it");
    }
  }

 private:
  void visit(std::size_t number) {
    if (std::find(way_.begin(), way_.end(), number) != way_.end()) {
      refuse_json("questions." + all_.questions[number].name, "a way comes back to it");
    }
    reached_[number] = true;
    way_.push_back(number);
    for (const auto& one : all_.questions[number].choices) {
      if (one.ends) {
        given_[one.next] = true;
      } else {
        visit(one.next);
      }
    }
    way_.pop_back();
  }

  const table& all_;
  std::vector<bool> reached_;
  std::vector<bool> given_;
  std::vector<std::size_t> way_;
};

table read(const json& source) {
  check_members(source, "the table", {"first", "questions", "advice"});
  table out;
  const auto& advices = member_of(source, "the table", "advice");
  const auto& questions = member_of(source, "the table", "questions");
  if (!advices.is_object()) refuse_json("advice", "is no object");
  if (!questions.is_object()) refuse_json("questions", "is no object");
  for (const auto& [name, one] : advices.items()) out.advices.push_back(read_advice(name, one));
  for (const auto& [name, one] : questions.items()) out.questions.push_back({name, {}, {}});
  for (auto& entry : out.questions) read_choices(out, entry, questions[entry.name]);
  out.first = find(out.questions, text_of(source, "the table", "first"), "first");
  walk(out).check();
  return out;
}

}  // namespace

result<table> read_table(std::string_view text) {
  const auto source = json::parse(text, nullptr, false);
  if (source.is_discarded()) return error(errc::invalid_argument, "the table: is no JSON");
  try {
    return read(source);
  } catch (const malformed_json& fault) {
    return error(errc::invalid_argument, fault.text);
  }
}

std::string page_of(const advice& given) {
  std::string out = given.title + "\n\n" + given.reason + "\n\nBegin with:\n\n";
  for (const auto& line : given.begin) out += line.empty() ? "\n" : "    " + line + "\n";
  out += "\nIt does not protect from:\n";
  for (const auto& gap : given.gaps) out += "  - " + gap + "\n";
  return out + "\nMore: " + given.page + "\n";
}

std::string chart_of(const table& all) {
  const auto quoted = [](std::string text) {
    for (auto begin = text.find('"'); begin != std::string::npos; begin = text.find('"', begin)) {
      text.replace(begin, 1, "#quot;");
    }
    return '"' + text + '"';
  };
  std::string out = "flowchart TD\n";
  for (const auto& entry : all.questions) {
    out += "  " + entry.name + "{" + quoted(entry.text) + "}\n";
  }
  for (const auto& given : all.advices) {
    out += "  to-" + given.name + "[" + quoted(given.title) + "]\n";
  }
  for (const auto& entry : all.questions) {
    for (const auto& one : entry.choices) {
      const auto target =
          one.ends ? "to-" + all.advices[one.next].name : all.questions[one.next].name;
      out += "  " + entry.name + " -->|" + quoted(one.text) + "| " + target + "\n";
    }
  }
  return out;
}

}  // namespace onceguard::advise
