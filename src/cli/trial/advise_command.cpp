#include <iostream>
#include <map>
#include <memory>
#include <unistd.h>

#include "advise/questions.hpp"
#include "cli/command.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::trial {
namespace {

using advise::choice;
using advise::question;
using advise::table;

/// By question: the answer that a flag gave.
using answers = std::map<std::string, std::string>;

int fail_advice(const std::string& text) {
  std::cerr << "onceguard: " << text << "\nSee: onceguard advise --help\n";
  return exit_usage;
}

std::string names_of(const question& entry) {
  std::string out;
  for (const auto& one : entry.choices) out += (out.empty() ? "" : ", ") + one.name;
  return out;
}

const choice* find(const question& entry, const std::string& text) {
  for (std::size_t i = 0; i < entry.choices.size(); ++i) {
    const auto& one = entry.choices[i];
    if (one.name == text || std::to_string(i + 1) == text) return &one;
  }
  return nullptr;
}

/// Asks the person at the terminal until there is an answer; null: the input has ended.
const choice* ask(const question& entry) {
  std::cout << entry.text << "\n";
  for (std::size_t i = 0; i < entry.choices.size(); ++i) {
    std::cout << "  " << i + 1 << "  " << entry.choices[i].text << "\n";
  }
  for (std::string line;;) {
    std::cout << "> " << std::flush;
    if (!std::getline(std::cin, line)) return nullptr;
    if (const auto* found = find(entry, line)) {
      std::cout << "\n";
      return found;
    }
    std::cout << "A number from 1 to " << entry.choices.size() << ", please.\n";
  }
}

/// The answers that no question on the way was for.
int refuse_idle(const answers& given, const std::map<std::string, std::string>& way) {
  for (const auto& [name, value] : given) {
    if (way.contains(name)) continue;
    std::string text = "--" + name + " does not matter after";
    for (const auto& [entry, answered] : way) text += " --" + entry + " " + answered;
    return fail_advice(text);
  }
  return exit_ok;
}

int run_advise(const table& all, const answers& flags) {
  answers given;
  for (const auto& [name, value] : flags) {
    if (!value.empty()) given.emplace(name, value);
  }
  const bool typed = ::isatty(STDIN_FILENO) != 0;
  answers way;
  for (std::size_t number = all.first;;) {
    const auto& entry = all.questions[number];
    const choice* found = nullptr;
    if (const auto flag = given.find(entry.name); flag != given.end()) {
      found = find(entry, flag->second);
    } else if (typed) {
      found = ask(entry);
      if (found == nullptr) return fail_advice("the answers ended before the last question");
    } else {
      return fail_advice("--" + entry.name + " is missing: " + entry.text + " " + names_of(entry));
    }
    way.emplace(entry.name, found->name);
    if (!found->ends) {
      number = found->next;
      continue;
    }
    if (const int refused = refuse_idle(given, way); refused != exit_ok) return refused;
    std::cout << advise::page_of(all.advices[found->next]);
    return exit_ok;
  }
}

std::string help_of(const question& entry) {
  std::string out = entry.text;
  for (const auto& one : entry.choices) out += "\n" + one.name + ": " + one.text;
  return out;
}

}  // namespace

void add_advise_command(const command& added) {
  const auto all = std::make_shared<table>(advise::read_table(advise::standard_table()).value());
  const auto flags = std::make_shared<answers>();
  const auto chart = std::make_shared<bool>(false);
  for (const auto& entry : all->questions) {
    std::vector<std::string> names;
    for (const auto& one : entry.choices) names.push_back(one.name);
    const auto fault = [entry, names](const std::string& value) -> std::string {
      for (const auto& name : names) {
        if (name == value) return {};
      }
      return "expected " + names_of(entry) + ", got \"" + terminal_text(value) + "\"";
    };
    added.add(
        {{"--" + entry.name, &(*flags)[entry.name], help_of(entry), single("ANSWER", fault)}});
  }
  added.add(
      {{"--chart", chart.get(), "Print all questions as a Mermaid flowchart, and ask nothing"}});
  added.runs([=] {
    if (!*chart) return run_advise(*all, *flags);
    std::cout << advise::chart_of(*all);
    return exit_ok;
  });
}

}  // namespace onceguard::cli::trial
