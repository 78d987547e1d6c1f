#include "config/monitoring_values.hpp"

#include <gtest/gtest.h>

namespace onceguard::config {
namespace {

TEST(prometheus_url, is_a_url_of_the_web_without_a_query) {
  for (const char* right : {"http://p:9090", "https://p.internal/prometheus/", "http://[::1]:1"}) {
    EXPECT_EQ(prometheus_url_complaint(right), "") << right;
  }
  for (const char* wrong : {"p:9090", "ftp://p", "http://", "http://p/?x=1", "http://u:x@p/"}) {
    EXPECT_NE(prometheus_url_complaint(wrong), "") << wrong;
  }
}

TEST(label_matchers, are_whole_and_end_no_braces) {
  for (const char* right :
       {R"(job="a")", R"(job="a",env=~"live|test")", R"(a!="",b!~"x{2}")", R"(_x9="\"}")"}) {
    EXPECT_EQ(label_matchers_complaint(right), "") << right;
  }
  for (const char* wrong :
       {"job", "job=", "job=a", R"(job="a)", R"(job="a",)", R"(,job="a")", R"(job="a"} or x{y="")",
        R"(job="a" )", R"(job"a")", R"(9="a")", R"(="a")", R"(job=="a")", R"(job="a\)",
        "job=\"a\n\"", "job=\"\xc3\xa9\""}) {
    EXPECT_NE(label_matchers_complaint(wrong), "") << wrong;
  }
}

TEST(trace_url, has_the_place_of_the_id_once_behind_the_host) {
  for (const char* right : {"https://j/trace/{trace_id}", "http://j:16686/?id={trace_id}#x",
                            "https://j/#/trace/{trace_id}"}) {
    EXPECT_EQ(trace_url_complaint(right), "") << right;
  }
  for (const char* wrong :
       {"https://j/trace", "javascript:alert('{trace_id}')", "https://{trace_id}/",
        "https:///{trace_id}", "https://u@j/{trace_id}", "/trace/{trace_id}", "data:,{trace_id}",
        "https://j/{trace_id}/{trace_id}", "https://j/ {trace_id}", "https://j/\"{trace_id}",
        "HTTPS://j/{trace_id}"}) {
    EXPECT_NE(trace_url_complaint(wrong), "") << wrong;
  }
}

}  // namespace
}  // namespace onceguard::config
