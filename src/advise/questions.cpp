#include "advise/questions.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"

namespace onceguard::advise {
namespace {

using json = nlohmann::ordered_json;  // answers are asked in the order of the file
using reader = base::json_reader<json>;

std::string text_of(const reader& object, const char* name) {
  auto out = object.at(name).text();
  if (out.empty()) object.at(name).refuse("is empty");
  return out;
}

std::vector<std::string> lines_of(const reader& object, const char* name) {
  std::vector<std::string> out;
  object.at(name).each([&](const reader& line) { out.push_back(line.text()); });
  if (out.empty()) object.at(name).refuse("is empty");
  return out;
}

/// The index of what the member names.
template <class Named>
std::size_t find(const std::vector<Named>& all, const reader& object, const char* member) {
  const auto name = text_of(object, member);
  const auto found = std::ranges::find(all, name, &Named::name);
  if (found == all.end()) object.at(member).refuse("there is no " + name);
  return static_cast<std::size_t>(found - all.begin());
}

advice read_advice(const std::string& name, const reader& source) {
  source.has_only({"title", "because", "language", "begin", "not", "page"});
  return {name,
          text_of(source, "title"),
          text_of(source, "because"),
          text_of(source, "language"),
          lines_of(source, "begin"),
          lines_of(source, "not"),
          text_of(source, "page")};
}

/// Sets the choices of a question whose name is known.
void read_choices(table& all, question& entry, const reader& source) {
  source.has_only({"text", "answers"});
  entry.text = text_of(source, "text");
  source.at("answers").members([&](const std::string& name, const reader& answer) {
    answer.has_only({"text", "next", "advice"});
    choice made{name, text_of(answer, "text"), 0, answer.find("advice").has_value()};
    if (made.ends == answer.find("next").has_value()) {
      answer.refuse("has not one of next and advice");
    }
    made.next =
        made.ends ? find(all.advices, answer, "advice") : find(all.questions, answer, "next");
    entry.choices.push_back(std::move(made));
  });
  if (entry.choices.size() < 2) source.refuse("has fewer than two answers");
}

/// Follows every way through the table.
class walk {
 public:
  walk(const table& all, const reader& source)
      : all_(all), source_(source), reached_(all.questions.size()), given_(all.advices.size()) {}

  void check() {
    visit(all_.first);
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      if (!reached_[i]) refuse("questions", all_.questions[i].name, "nothing leads to it");
    }
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (!given_[i]) refuse("advice", all_.advices[i].name, "nothing leads to it");
    }
  }

 private:
  [[noreturn]] void refuse(const char* list, const std::string& name, const char* fault) {
    source_.at(list).at(name.c_str()).refuse(fault);
  }

  void visit(std::size_t number) {
    if (std::find(way_.begin(), way_.end(), number) != way_.end()) {
      refuse("questions", all_.questions[number].name, "a way comes back to it");
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
  const reader& source_;
  std::vector<bool> reached_;
  std::vector<bool> given_;
  std::vector<std::size_t> way_;
};

}  // namespace

result<table> read_table(std::string_view text) {
  return base::read_json<json>(text, "the table", [](const reader& source) {
    source.has_only({"first", "questions", "advice"});
    table out;
    source.at("advice").members([&](const std::string& name, const reader& one) {
      out.advices.push_back(read_advice(name, one));
    });
    const auto questions = source.at("questions");
    questions.members([&](const std::string& name, const reader&) {
      out.questions.push_back({name, {}, {}});
    });
    for (auto& entry : out.questions) read_choices(out, entry, questions.at(entry.name.c_str()));
    out.first = find(out.questions, source, "first");
    walk(out, source).check();
    return out;
  });
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
