#include "admin/prometheus_history.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/url.hpp"

namespace onceguard::admin {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t last_second = 1'700'000'000;
constexpr const auto& hours = history_spans[0];

/// A whole answer of this series: pairs of time and value.
std::string answer(const json& labels, const json& values) {
  const json one{{"metric", labels}, {"values", values}};
  const json data{{"resultType", "matrix"}, {"result", json::array({one})}};
  return json{{"status", "success"}, {"data", data}}.dump();
}

json at(double time, const char* value) { return json::array({time, value}); }
json only(const json& one) { return json::array({one}); }
json part(const char* name) { return json::object({{"onceguard_part", name}}); }

ordered_json read(const std::string& body) {
  return read_history(body, hours, last_second).value();
}
std::string refusal_of(const std::string& body) {
  const auto out = read_history(body, hours, last_second);
  return out ? "" : out.error().detail;
}

json outcome(const char* name) {
  auto out = part("outcome");
  out["outcome"] = name;
  return out;
}
const json outcome_ran = outcome("ran");

TEST(prometheus_history, a_span_has_a_sample_for_each_step_up_to_its_end) {
  for (const auto& span : history_spans) {
    EXPECT_EQ(span.length / span.step, 360) << span.name;
    const auto read = read_history(answer(outcome_ran, json::array()), span, last_second).value();
    ASSERT_EQ(read.size(), 360);
    EXPECT_EQ(read.back()["at"], "2023-11-14T22:13:20.000Z");
    const auto target = history_target("/", "", span, last_second, std::chrono::seconds(5));
    EXPECT_TRUE(target.starts_with("/api/v1/query_range?query=")) << target;
    EXPECT_NE(target.find("&end=1700000000&step=" + std::to_string(span.step.count())),
              std::string::npos)
        << target;
  }
}

TEST(prometheus_history, the_query_has_the_labels_and_a_window_of_several_scrapes) {
  const auto target =
      history_target("/p", R"(job="a b")", hours, last_second, std::chrono::seconds(5));
  EXPECT_TRUE(target.starts_with("/p/api/v1/")) << target;
  const auto query = base::percent_decoded(target).value();
  EXPECT_NE(query.find(R"(rate(onceguard_requests_total{job="a b"}[300s]))"), query.npos) << query;
  const auto days = base::percent_decoded(
      history_target("", "", history_spans[2], last_second, std::chrono::seconds(5)));
  EXPECT_NE(days.value().find("[1680s]"), std::string::npos);
}

TEST(prometheus_history, a_rate_is_what_was_added_in_a_step) {
  const auto last = read(answer(outcome_ran, only(at(last_second, "2.5"))))[359];
  EXPECT_EQ(last["outcomes"].dump(), R"({"ran":150.0})");
  const auto first = only(at(last_second - 359 * 60, "1"));
  EXPECT_EQ(read(answer(outcome_ran, first))[0]["outcomes"]["ran"], 60.0);
}

TEST(prometheus_history, times_are_in_microseconds_the_median_first) {
  const auto claim_of = [](const char* name, const char* value) {
    return read(answer(part(name), only(at(last_second, value))))[359]["times_us"]["claim"].dump();
  };
  EXPECT_EQ(claim_of("0.5 claim", "0.0015"), "[1500,0]");
  EXPECT_EQ(claim_of("0.99 claim", "0.25"), "[0,250000]");
}

TEST(prometheus_history, what_is_no_number_or_of_another_time_is_left_out) {
  for (const char* value : {"NaN", "+Inf", "-Inf", "-1", "", "1x", "0"}) {
    EXPECT_TRUE(read(answer(outcome_ran, only(at(last_second, value))))[359]["outcomes"].empty())
        << value;
  }
  const auto elsewhere = json::array({at(last_second + 60, "1"), at(last_second - 360 * 60, "1"),
                                      at(1e300, "1"), at(-1e300, "1")});
  const auto malformed = json::parse(R"(["x", [1700000000], ["x", "1"], [1700000000, 1],
                                         [null, "1"], {"0": 1700000000, "1": "1"}])");
  for (const auto& values : {elsewhere, malformed, json("x"), json(nullptr)}) {
    for (const auto& one : read(answer(outcome_ran, values))) {
      EXPECT_TRUE(one["outcomes"].empty()) << values;
    }
  }
  EXPECT_TRUE(read(answer(outcome("<b>"), only(at(last_second, "1"))))[359]["outcomes"].empty());
}

TEST(prometheus_history, what_is_no_answer_is_said) {
  for (const char* body :
       {"", "x", "[]", "{}", R"({"status":"success"})", R"({"status":"success","data":[]})",
        R"({"status":"success","data":{"resultType":"vector","result":[]}})",
        R"({"status":"success","data":{"resultType":"matrix"}})"}) {
    EXPECT_EQ(refusal_of(body), "what it answered is none of Prometheus's") << body;
  }
  EXPECT_EQ(refusal_of(R"({"status":"error","error":"query timed out"})"),
            "it refused: query timed out");
  EXPECT_EQ(refusal_of(R"({"status":"success","data":{"resultType":"matrix","result":[1]}})"), "");
}

}  // namespace
}  // namespace onceguard::admin
