// A table of questions that can't be used is refused with what is wrong.
#include "advise/questions.hpp"

#include <gtest/gtest.h>

namespace onceguard::advise {
namespace {

constexpr std::string_view advices =
    R"("advice": {"a": {"title": "A", "because": "b", "language": "sh", "begin": ["x", "", "y"],
                        "not": ["z"], "page": "p"}})";

std::string table_with(std::string_view questions, std::string_view first = "q") {
  return std::string(R"({"first": ")").append(first).append(R"(", "questions": {)") +
         std::string(questions).append("}, ").append(advices).append("}");
}

std::string fault_of(std::string_view text) {
  const auto read = read_table(text);
  return read ? "" : read.error().detail;
}

TEST(table_of_advice, that_is_compiled_in_is_good) {
  const auto read = read_table(standard_table());
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_GT(read->questions.size(), 5u);
}

TEST(table_of_advice, keeps_the_order_of_the_answers) {
  const auto read = read_table(table_with(
      R"("q": {"text": "?", "answers": {"z": {"text": "1", "advice": "a"},
                                        "b": {"text": "2", "advice": "a"}}})"));
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->questions[0].choices[0].name, "z");
  EXPECT_EQ(page_of(read->advices[0]),
            "A\n\nb\n\nBegin with:\n\n    x\n\n    y\n\nIt does not protect from:\n  - z\n\n"
            "More: p\n");
  EXPECT_EQ(chart_of(*read),
            "flowchart TD\n  q{\"?\"}\n  to-a[\"A\"]\n  q -->|\"1\"| to-a\n  q -->|\"2\"| to-a\n");
}

TEST(table_of_advice, names_what_is_wrong) {
  EXPECT_EQ(fault_of("{"), "the table: is no JSON");
  EXPECT_EQ(fault_of("[]"), "the table: is no object");
  EXPECT_EQ(fault_of("{}"), "advice: is missing");
  EXPECT_EQ(fault_of(table_with("")), "first: there is no q");
  EXPECT_EQ(fault_of(table_with(R"("q": {"text": "?", "answers": {}})")),
            "questions.q: has fewer than two answers");
  EXPECT_EQ(fault_of(table_with(R"("q": {"text": "?", "answers": {"y": {"text": "y"},
                                   "n": {"text": "n", "advice": "a"}}})")),
            "questions.q.answers.y: has not one of next and advice");
  EXPECT_EQ(fault_of(table_with(R"("q": {"text": "?", "answers": {"y": {"text": "y",
                                   "advice": "b"}, "n": {"text": "n", "advice": "a"}}})")),
            "questions.q.answers.y.advice: there is no b");
  EXPECT_EQ(fault_of(table_with(R"("q": {"text": "?", "answers": {"y": {"text": "y",
                                   "next": "q"}, "n": {"text": "n", "advice": "a"}}})")),
            "questions.q: a way comes back to it");
  EXPECT_EQ(fault_of(table_with(R"("q": {"text": "", "answers": {}})")),
            "questions.q.text: is empty");
  EXPECT_EQ(fault_of(table_with(R"("q": {"text": "?", "extra": 1})")),
            "questions.q: unknown member extra");
}

TEST(table_of_advice, has_nothing_that_nobody_reaches) {
  constexpr std::string_view both = R"({"y": {"text": "y", "advice": "a"},
                                        "n": {"text": "n", "advice": "a"}})";
  const auto one = [&](std::string_view name) {
    return std::string("\"").append(name).append(R"(": {"text": "?", "answers": )").append(both) +
           "}";
  };
  EXPECT_EQ(fault_of(table_with(one("q") + "," + one("r"))), "questions.r: nothing leads to it");
  const auto unused = std::string(R"({"first": "q", "questions": {)") + one("q") +
                      R"(}, "advice": {"a": {"title": "A", "because": "b", "language": "sh",
                      "begin": ["x"], "not": ["z"], "page": "p"}, "c": {"title": "A",
                      "because": "b", "language": "sh", "begin": ["x"], "not": ["z"],
                      "page": "p"}}})";
  EXPECT_EQ(fault_of(unused), "advice.c: nothing leads to it");
}

}  // namespace
}  // namespace onceguard::advise
