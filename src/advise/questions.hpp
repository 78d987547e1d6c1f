// Which pattern fits an operation: a table of questions whose answers lead to another question or
// to an advice. The command asks them, and the tree in docs/patterns/README.md is made from them.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::advise {

struct choice {
  std::string name;  ///< as a flag's value
  std::string text;
  /// Where it leads: the index of a question, or of an advice.
  std::size_t next = 0;
  bool ends = false;  ///< `next` is an advice
};

struct question {
  std::string name;  ///< as a flag
  std::string text;
  std::vector<choice> choices;
};

struct advice {
  std::string name;
  std::string title;
  std::string reason;
  std::string language;            ///< of `begin`: "toml", "cpp", "sh"
  std::vector<std::string> begin;  ///< the configuration or code to begin with
  std::vector<std::string> gaps;   ///< what it does not protect from
  std::string page;                ///< of the documentation
};

struct table {
  std::size_t first = 0;  ///< the first question
  std::vector<question> questions;
  std::vector<advice> advices;
};

/// Reads a table. The error names the member that is wrong: a question or an advice that is not
/// there or that nothing leads to, a way that comes back to a question.
[[nodiscard]] result<table> read_table(std::string_view json);

/// src/advise/questions.json, which is compiled in.
[[nodiscard]] std::string_view standard_table() noexcept;

/// The advice as a page for a terminal.
[[nodiscard]] std::string page_of(const advice& given);
/// The table as a Mermaid flowchart.
[[nodiscard]] std::string chart_of(const table& all);

}  // namespace onceguard::advise
