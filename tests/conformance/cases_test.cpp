// The table of the conformance kit: what is read, and what is refused.
#include "conformance/cases.hpp"

#include <map>

#include <gtest/gtest.h>

#include "conformance/answer_comparison.hpp"

namespace onceguard::conformance {
namespace {

std::string table_of(const std::string& members) {
  return R"({"version": 1, "cases": [{"name": "a", "levels": ["draft"], "strength": "MUST",)"
         R"("rule": "here", "says": "so", )" +
         members + "}]}";
}

std::string fault_of(const std::string& text) {
  const auto read = read_table(text);
  return read ? "none" : read.error().detail;
}

TEST(conformance_table, the_built_in_one_is_readable_and_has_all_levels) {
  const auto read = read_table(standard_table());
  ASSERT_TRUE(read) << read.error().detail;
  std::map<level, std::size_t> cases;
  for (const auto& one : read->cases)
    for (const auto level : one.levels) ++cases[level];
  EXPECT_GT(cases[level::draft], 15U);
  EXPECT_GT(cases[level::onceguard], 70U);
  EXPECT_GT(cases[level::transaction], 70U);
  EXPECT_EQ(level_of("transaction"), level::transaction);
  EXPECT_EQ(level_of("all"), std::nullopt);
}

TEST(conformance_table, a_request_has_defaults) {
  const auto read = read_table(table_of(R"("steps": [{"send": {}}])"));
  ASSERT_TRUE(read) << read.error().detail;
  const auto& request = read->cases.at(0).steps.at(0).request;
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/conformance");
  EXPECT_EQ(request.keys, std::vector<std::string>{"\"{key}\""});
}

TEST(conformance_table, an_act_may_last_as_long_as_the_longest_work) {
  const auto read = read_table(table_of(R"("steps": [{"leave": {"work": {"delay": 700}},
    "by": "reset"}, {"pause": "long"}, {"send": {"chunked": true, "caller": null,
    "work": {"delay": "long", "bytes": true}}, "expect": {"runs": [0, 1], "body": {"bytes": true}}},
    {"send": {"body": {"size": 3, "last": "y"}}}])"));
  ASSERT_TRUE(read) << read.error().detail;
  const auto& test = read->cases.at(0);
  EXPECT_TRUE(test.takes_long());
  EXPECT_TRUE(test.wants_bytes());
  EXPECT_EQ(test.steps[0].kind, step_kind::leave);
  EXPECT_TRUE(test.steps[0].reset);
  EXPECT_EQ(test.steps[0].request.delay.count, milliseconds(700));
  EXPECT_TRUE(test.steps[1].pause.is_long);
  EXPECT_EQ(test.steps[2].request.work, R"({"bytes":true})");
  EXPECT_EQ(test.steps[2].request.caller, std::nullopt);
  EXPECT_EQ(test.steps[2].expected.runs, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(test.steps[2].expected.body->size(), 256U);
  EXPECT_EQ(test.steps[3].request.body, "xxy");
}

TEST(conformance_table, a_replay_has_the_fields_of_the_work) {
  const auto read = read_table(table_of(R"("steps": [{"start": {"work":
    {"fields": [["Link", "<a>"], ["Set-Cookie", "a=1"]]}}}, {"await": 1},
    {"send": {}, "expect": {"replay": 2}}])"));
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->cases.at(0).steps[2].expected.replay_fields,
            (std::vector<std::string>{"Content-Type", "Link"}));
}

TEST(conformance_table, variants_become_cases) {
  const auto read = read_table(table_of(R"("variants": [{"name": "x", "n": 7}, {"name": "y",
    "n": 8}], "steps": [{"send": {"body": "n={n}", "work": {"status": "{n}"}}}])"));
  ASSERT_TRUE(read) << read.error().detail;
  ASSERT_EQ(read->cases.size(), 2U);
  EXPECT_EQ(read->cases[1].name, "a/y");
  EXPECT_EQ(read->cases[1].steps[0].request.body, "n=8");
  EXPECT_EQ(read->cases[1].steps[0].request.work, R"({"status":8})");
}

TEST(conformance_table, a_fault_names_its_location) {
  EXPECT_EQ(fault_of("{"), "the table: is no JSON");
  EXPECT_EQ(fault_of(R"({"version": 2, "cases": []})"), "version: this program reads version 1");
  EXPECT_EQ(fault_of(table_of(R"("steps": [])")), "cases[0].steps: is empty");
  EXPECT_EQ(fault_of(table_of(R"("steps": [{"send": {"methd": "GET"}}])")),
            "cases[0].steps[0].send: unknown member methd");
  EXPECT_EQ(fault_of(table_of(R"("steps": [{"send": {}, "expect": {"replay": 1}}])")),
            "cases[0].steps[0].expect.replay: is no whole number up to 0");
  EXPECT_EQ(fault_of(table_of(R"("steps": [{"send": {"path": "/a b"}}])")),
            "cases[0].steps[0].send.path: is no path");
  EXPECT_EQ(fault_of(table_of(R"("steps": [{"send": {}}, {"await": 1}])")),
            "cases[0].steps[1]: that step was not started");
  EXPECT_EQ(
      fault_of(table_of(R"("steps": [{"start": {}}, {"send": {}, "expect": {"same_answer": 1}}])")),
      "cases[0].steps[1].expect: the answer of start is that of its await");
  EXPECT_EQ(
      fault_of(table_of(R"("steps": [{"leave": {}}, {"send": {}, "expect": {"replay": 1}}])")),
      "cases[0].steps[1].expect: that step has no answer");
  EXPECT_EQ(fault_of(table_of(R"("steps": [{"send": {}, "by": "reset"}])")),
            "cases[0].steps[0]: by belongs to leave");
  EXPECT_EQ(fault_of(table_of(R"("steps": [{"pause": "short"}])")),
            "cases[0].steps[0].pause: is no whole number up to 60000");
  EXPECT_EQ(fault_of(table_of(R"("steps": [{"send": {"key": "a\nb"}}])")),
            "cases[0].steps[0].send.key: has control characters");
}

class conformance_check : public ::testing::Test {
 protected:
  std::vector<std::string> subjects(const expectation& expected, const http1::answer& answer) {
    std::vector<difference> found;
    compare(expected, answer, {&first_, 1}, 2, found);
    std::vector<std::string> out;
    for (const auto& one : found) out.push_back(one.subject);
    return out;
  }
  using names = std::vector<std::string>;

  http1::answer first_{201, {{"Date", "now"}, {"A", "1"}, {"A", "2"}, {"Set-Cookie", "a=1"}}, "x"};
};

TEST_F(conformance_check, a_replay_has_status_body_and_fields) {
  expectation expected;
  expected.replay = 0;
  expected.replay_fields = {"A"};
  auto again = http1::answer{201, {{"a", "1"}, {"a", "2"}, {"Idempotent-Replayed", "true"}}, "x"};
  EXPECT_EQ(subjects(expected, again), names{});
  std::swap(again.fields[0], again.fields[1]);
  EXPECT_EQ(subjects(expected, again), names{"field A"});
  again.body = "y";
  again.status = 200;
  EXPECT_EQ(subjects(expected, again), (names{"status", "body", "field A"}));
  EXPECT_EQ(subjects(expected, first_), names{});
}

TEST_F(conformance_check, a_server_may_add_fields_of_its_own_to_a_replay) {
  expectation expected;
  expected.replay = 0;
  expected.replay_fields = {"A"};
  const auto again = http1::answer{
      201, {{"X-Request-Id", "2"}, {"A", "1"}, {"A", "2"}, {"Server-Timing", "app;dur=9"}}, "x"};
  EXPECT_EQ(subjects(expected, again), names{});
}

TEST_F(conformance_check, fields_are_absent_equal_or_seconds) {
  expectation expected;
  expected.fields = {{"B", {}, false}, {"a", {"1", "2"}, false}, {"Retry-After", {}, true}};
  for (const auto* seconds : {"1", "60"}) {
    http1::answer answer{409, {{"A", "1"}, {"A", "2"}, {"Retry-After", seconds}}, ""};
    EXPECT_EQ(subjects(expected, answer), names{});
  }
  for (const auto* seconds : {"0", "01", "", "1.5", "Fri"}) {
    http1::answer answer{409, {{"A", "1"}, {"A", "2"}, {"Retry-After", seconds}}, ""};
    EXPECT_EQ(subjects(expected, answer), names{"field Retry-After"}) << seconds;
  }
  http1::answer answer{409, {{"A", "2"}, {"A", "1"}, {"B", ""}, {"Retry-After", "1"}}, ""};
  EXPECT_EQ(subjects(expected, answer), (names{"field B", "field a"}));
}

TEST_F(conformance_check, a_problem_has_a_type_and_no_wrong_member) {
  expectation expected;
  expected.problem = "key-reused";
  expected.retryable = false;
  http1::answer answer{422,
                       {{"Content-Type", "Application/Problem+JSON ; charset=utf-8"}},
                       R"({"type": "https://example.com/key-reused", "title": "t", "status": 422,)"
                       R"("detail": "d", "retryable": false})"};
  EXPECT_EQ(subjects(expected, answer), names{});
  answer.body = R"({"type": "urn:x:key-missing", "status": 400, "title": ""})";
  EXPECT_EQ(subjects(expected, answer),
            (names{"type of the problem", "status in the problem", "title of the problem",
                   "retryable of the problem"}));
  answer.body = R"({"type": "urn:x:key-reused", "retryable": false})";
  EXPECT_EQ(subjects(expected, answer), names{});
  answer.fields[0].second = "application/json";
  EXPECT_EQ(subjects(expected, answer), names{"field Content-Type"});
  answer.fields[0].second = "application/problem+json";
  answer.body = "no JSON";
  EXPECT_EQ(subjects(expected, answer), names{"body"});
}

TEST_F(conformance_check, no_answer_is_a_status_of_its_own) {
  expectation expected;
  expected.statuses = {502, 0};
  EXPECT_EQ(subjects(expected, {0, {}, "closed"}), names{});
  EXPECT_EQ(subjects(expected, {201, {}, ""}), names{"status"});
}

}  // namespace
}  // namespace onceguard::conformance
