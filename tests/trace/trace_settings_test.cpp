#include "trace/trace_settings.hpp"

#include <map>

#include <gtest/gtest.h>

namespace onceguard::trace {
namespace {

using variables = std::map<std::string, std::string, std::less<>>;

trace_setup read(const variables& given) {
  return read_setup([&](std::string_view name) {
    const auto found = given.find(name);
    return found == given.end() ? std::string() : found->second;
  });
}

variables with(variables more) {
  more.emplace("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
  return more;
}

TEST(trace_settings, without_an_endpoint_there_are_no_traces) {
  const auto found = read({{"OTEL_SERVICE_NAME", "pay"}});
  EXPECT_FALSE(found.settings);
  EXPECT_TRUE(found.faults.empty());
}

TEST(trace_settings, the_general_endpoint_gets_the_path_of_traces) {
  for (const auto* url : {"http://collector:4318", "http://collector:4318/"}) {
    const auto found = read({{"OTEL_EXPORTER_OTLP_ENDPOINT", url}});
    ASSERT_TRUE(found.settings);
    EXPECT_EQ(found.settings->address, (base::endpoint{"collector", 4318}));
    EXPECT_EQ(found.settings->path, "/v1/traces");
  }
}

TEST(trace_settings, the_endpoint_of_traces_is_used_as_it_is) {
  const auto found =
      read(with({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9/in?team=a"}}));
  ASSERT_TRUE(found.settings);
  EXPECT_EQ(found.settings->address, (base::endpoint{"127.0.0.1", 9}));
  EXPECT_EQ(found.settings->path, "/in?team=a");
  EXPECT_EQ(read({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a:1"}}).settings->path, "/");
}

TEST(trace_settings, an_endpoint_that_is_no_url_is_a_fault_and_no_traces) {
  const auto found = read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318"}});
  EXPECT_FALSE(found.settings);
  ASSERT_EQ(found.faults.size(), 1u);
  EXPECT_TRUE(found.faults[0].starts_with("OTEL_EXPORTER_OTLP_ENDPOINT: ")) << found.faults[0];
}

TEST(trace_settings, headers_and_resource_are_lists_with_percent_escapes) {
  const auto found =
      read(with({{"OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, authorization=Basic%20eA=="},
                 {"OTEL_RESOURCE_ATTRIBUTES", "service.name=old,team=pay%2Cment"},
                 {"OTEL_SERVICE_NAME", "payments"}}));
  ASSERT_TRUE(found.settings);
  EXPECT_EQ(found.settings->headers,
            (attribute_list{{"x-key", "a b"}, {"authorization", "Basic eA=="}}));
  EXPECT_EQ(found.settings->resource,
            (attribute_list{{"service.name", "payments"}, {"team", "pay,ment"}}));
}

TEST(trace_settings, a_header_that_http_can_not_have_is_left_out) {
  const auto found =
      read(with({{"OTEL_EXPORTER_OTLP_HEADERS", "good=1,bad=a%0D%0Ab,b d=1,naked"}}));
  ASSERT_TRUE(found.settings);
  EXPECT_EQ(found.settings->headers, (attribute_list{{"good", "1"}}));
  EXPECT_EQ(found.faults.size(), 2u);
}

TEST(trace_settings, samplers_have_the_names_of_the_specification) {
  const auto sampler = [](std::string name, std::string ratio = {}) {
    return read(with({{"OTEL_TRACES_SAMPLER", std::move(name)},
                      {"OTEL_TRACES_SAMPLER_ARG", std::move(ratio)}}))
        .settings->sampler;
  };
  EXPECT_TRUE(sampler("").parent_based);
  EXPECT_EQ(sampler("").ratio, 1.0);
  EXPECT_FALSE(sampler("always_on").parent_based);
  EXPECT_EQ(sampler("always_off").ratio, 0.0);
  EXPECT_EQ(sampler("traceidratio", "0.25").ratio, 0.25);
  EXPECT_TRUE(sampler("parentbased_traceidratio", "0.5").parent_based);
  EXPECT_EQ(sampler("parentbased_traceidratio", "0.5").ratio, 0.5);
  EXPECT_EQ(sampler("parentbased_always_off").ratio, 0.0);
  EXPECT_EQ(sampler("traceidratio", "2").ratio, 1.0);
  EXPECT_TRUE(sampler("jaeger_remote").parent_based);
}

TEST(trace_settings, numbers_out_of_range_keep_the_default) {
  const auto found = read(with({{"OTEL_BSP_SCHEDULE_DELAY", "50"},
                                {"OTEL_BSP_MAX_QUEUE_SIZE", "-1"},
                                {"OTEL_EXPORTER_OTLP_TIMEOUT", "3s"}}));
  ASSERT_TRUE(found.settings);
  EXPECT_EQ(found.settings->delay, milliseconds(50));
  EXPECT_EQ(found.settings->queue_max, 2'048u);
  EXPECT_EQ(found.settings->timeout, milliseconds(10'000));
  EXPECT_EQ(found.faults.size(), 2u);
}

TEST(trace_settings, the_kit_can_be_switched_off_and_grpc_is_not_spoken) {
  EXPECT_FALSE(read(with({{"OTEL_SDK_DISABLED", "TRUE"}})).settings);
  EXPECT_FALSE(read(with({{"OTEL_TRACES_EXPORTER", "none"}})).settings);
  const auto grpc = read(with({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}));
  EXPECT_FALSE(grpc.settings);
  EXPECT_EQ(grpc.faults.size(), 1u);
  EXPECT_TRUE(read(with({{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"}})).faults.empty());
}

}  // namespace
}  // namespace onceguard::trace
