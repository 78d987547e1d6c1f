#include "trace/tracer.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "base/field.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "http/trace_context.hpp"

namespace onceguard::trace {
namespace {

using http::request_outcome;
using std::chrono::microseconds;

std::optional<http::trace_parent> parsed(std::string_view value) {
  const std::array fields{base::field{"Traceparent", value}};
  return http::find_trace_parent(fields);
}

constexpr std::string_view sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(trace_parent, is_read_as_the_w3c_has_it) {
  const auto found = parsed(sampled);
  ASSERT_TRUE(found);
  EXPECT_EQ(base::to_hex(found->trace), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(base::to_hex(found->span), "00f067aa0ba902b7");
  EXPECT_TRUE(found->sampled);
  const std::string trace(sampled.substr(0, 53));
  EXPECT_FALSE(parsed(trace + "00")->sampled);
  EXPECT_TRUE(parsed(trace + "ff")->sampled);
  EXPECT_TRUE(parsed("cc" + std::string(sampled.substr(2)) + "-more"));
}

TEST(trace_parent, is_missing_if_it_is_malformed_or_repeated) {
  const std::string whole(sampled);
  const std::array<std::string, 8> all_wrong{
      std::string(),
      whole.substr(1),
      whole + "-more",
      "ff" + whole.substr(2),
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01"};
  for (const auto& wrong : all_wrong) {
    EXPECT_FALSE(parsed(wrong)) << wrong;
  }
  const std::array twice{base::field{"traceparent", sampled}, base::field{"traceparent", sampled}};
  EXPECT_FALSE(http::find_trace_parent(twice));
}

class traced : public testing::Test {
 protected:
  std::string finish(const http::request_trace& trace, request_outcome outcome) {
    http::request_report report;
    report.trace = &trace;
    report.outcome = outcome;
    report.record = &record;
    report.method = "POST";
    report.route = "/pay";
    report.path = "/pay/\xff\"";
    report.status = report.upstream_status = 201;
    report.total = microseconds(900);
    if (outcome == request_outcome::ran) {
      report.upstream = "shop";
      report.settled = settle_kind::complete;
      report.attempt = 1;
      report.claim_begin = microseconds(10), report.claim = microseconds(200);
      report.upstream_begin = microseconds(250), report.upstream_time = microseconds(300);
      report.settle_begin = microseconds(600), report.settle = microseconds(250);
    }
    spans.finished(report);
    auto batch = queue.take(milliseconds(0));
    return batch.empty() ? std::string() : batch.front();
  }

  record_id record = base::sha256_of("record");
  span_queue queue{4, 4};
  tracer spans{sampler_settings(), queue};
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(traced, a_run_has_a_span_and_one_for_each_step) {
  auto trace = spans.begin(parsed(sampled));
  trace.begin_wall = 1'000'000;
  const auto text = finish(trace, request_outcome::ran);
  const auto server = base::to_hex(trace.server);
  EXPECT_TRUE(has(text, R"({"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":")" + server +
                            R"(","parentSpanId":"00f067aa0ba902b7","name":"POST /pay","kind":2,)"
                            R"("startTimeUnixNano":"1000000000","endTimeUnixNano":"1000900000")"))
      << text;
  EXPECT_TRUE(has(text, R"("parentSpanId":")" + server +
                            R"(","name":"claim","kind":1,"startTimeUnixNano":"1000010000",)"
                            R"("endTimeUnixNano":"1000210000"})"))
      << text;
  EXPECT_TRUE(has(text, R"("spanId":")" + base::to_hex(trace.upstream) + R"(","parentSpanId":")" +
                            server + R"(","name":"upstream","kind":3,)"))
      << text;
  EXPECT_TRUE(has(text, R"("name":"settle","kind":1,)")) << text;
  EXPECT_TRUE(has(text, R"({"key":"url.path","value":{"stringValue":"/pay/%ff\""}})")) << text;
  EXPECT_TRUE(has(text, R"({"key":"http.response.status_code","value":{"intValue":"201"}})"));
  EXPECT_TRUE(has(text, R"({"key":"onceguard.outcome","value":{"stringValue":"ran"}})"));
}

TEST_F(traced, a_replay_has_a_link_to_the_run_and_no_steps) {
  const auto first = spans.begin(std::nullopt);
  EXPECT_FALSE(has(finish(first, request_outcome::ran), "links"));
  const auto text = finish(spans.begin(std::nullopt), request_outcome::replayed);
  EXPECT_TRUE(has(text, R"("links":[{"traceId":")" + base::to_hex(first.trace) + R"(","spanId":")" +
                            base::to_hex(first.server) + R"("}])"))
      << text;
  EXPECT_FALSE(has(text, "parentSpanId")) << text;
}

TEST_F(traced, a_second_run_of_a_record_has_a_link_to_the_first) {
  const auto first = spans.begin(std::nullopt);
  finish(first, request_outcome::ran);
  const auto text = finish(spans.begin(std::nullopt), request_outcome::ran);
  EXPECT_TRUE(has(text, R"("links":[{"traceId":")" + base::to_hex(first.trace))) << text;
}

TEST_F(traced, what_the_client_does_not_sample_sends_nothing_but_goes_on) {
  const std::string unsampled = std::string(sampled.substr(0, 53)) + "00";
  const auto trace = spans.begin(parsed(unsampled));
  EXPECT_EQ(finish(trace, request_outcome::ran), "");
  EXPECT_EQ(trace.parent_field(),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-" + base::to_hex(trace.upstream) + "-00");
}

TEST_F(traced, a_ratio_samples_that_share_of_traces) {
  const tracer some(sampler_settings{.parent_based = false, .ratio = 0.25}, queue);
  int count = 0;
  for (int i = 0; i < 4'000; ++i) count += some.begin(std::nullopt).sampled ? 1 : 0;
  EXPECT_NEAR(count, 1'000, 150);
  const tracer none(sampler_settings{.parent_based = false, .ratio = 0.0}, queue);
  EXPECT_FALSE(none.begin(parsed(sampled)).sampled);
}

TEST_F(traced, ids_differ_on_every_thread) {
  http::request_trace other;
  std::thread([&] { other = spans.begin(std::nullopt); }).join();
  const auto here = spans.begin(std::nullopt);
  EXPECT_NE(here.trace, other.trace);
  EXPECT_NE(here.server, here.upstream);
}

TEST(span_queue, a_full_queue_drops_and_counts) {
  span_queue queue(2, 2);
  for (int i = 0; i < 5; ++i) queue.push("{}");
  EXPECT_EQ(queue.dropped(), 3u);
  EXPECT_EQ(queue.take(milliseconds(10'000)).size(), 2u);  // a full batch does not wait
  queue.end();
  EXPECT_TRUE(queue.take(milliseconds(10'000)).empty());
}

TEST(export_body, has_resource_and_scope_around_the_spans) {
  EXPECT_EQ(export_body({{"service.name", "pay"}}, "1.0", {"{}", "{},{}"}),
            R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",)"
            R"("value":{"stringValue":"pay"}}]},"scopeSpans":[{"scope":{"name":"onceguard",)"
            R"("version":"1.0"},"spans":[{},{},{}]}]}]})");
}

}  // namespace
}  // namespace onceguard::trace
