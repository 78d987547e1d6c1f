// Who is asked about which record.
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "gateway/reconciling.hpp"

namespace onceguard::gateway {
namespace {

class silent_query final : public outcome_source {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "query"; }
  boost::asio::awaitable<effect_report> ask(const subject&, const held_lease&) override {
    co_return effect_report();
  }
};

class inquiries_test : public ::testing::Test {
 protected:
  static constexpr milliseconds hour{3'600'000};

  boost::asio::io_context io;
  gateway_params params;
  host_lookup names;
  suspect_upstreams suspects;
  upstream_pool pool{io, params, names, suspects};
  silent_query query;
  std::vector<route_params> routes;

  route_params& route(std::string path, milliseconds retention, std::string probe = {}) {
    route_params added;
    added.path = std::move(path);
    added.policy.retention = retention;
    added.policy.probe = std::move(probe);
    return routes.emplace_back(std::move(added));
  }
  static subject of_route(std::string name, std::string method = "POST") {
    subject out;
    out.route = std::move(name);
    out.method = std::move(method);
    out.run_timeout = milliseconds(60'000);
    return out;
  }
};

TEST_F(inquiries_test, a_probe_comes_before_the_query) {
  route("/", hour);
  route("/paid", 2 * hour, "http://a/{scope}/{key}");
  const inquiries inquiries(pool, routes, &query);
  const auto paid = inquiries.about(of_route("/paid"));
  EXPECT_EQ(paid.source->name(), "probe");
  EXPECT_EQ(paid.retention, 2 * hour);
  EXPECT_EQ(paid.quiet, milliseconds(0)) << "it refuses earlier tokens itself";
  EXPECT_EQ(paid.probe_after, milliseconds(0));
  const auto other = inquiries.about(of_route("/"));
  EXPECT_EQ(other.source, &query);
  EXPECT_EQ(other.quiet, milliseconds(60'000));
}

TEST_F(inquiries_test, a_probe_without_fence_waits_for_the_upstreams_timeout) {
  auto& policy = route("/", hour, "http://a/{scope}/{key}").policy;
  policy.probe_mode = probe_rule::ask;
  policy.upstream_timeout = milliseconds(7'000);
  const inquiries inquiries(pool, routes, nullptr);
  EXPECT_EQ(inquiries.about(of_route("/")).probe_after, milliseconds(7'000));
}

TEST_F(inquiries_test, a_host_is_part_of_the_name) {
  route("/", hour);
  route("/paid", 2 * hour).host = "api.test";
  const inquiries inquiries(pool, routes, &query);
  EXPECT_EQ(inquiries.about(of_route("api.test/paid")).retention, 2 * hour);
  EXPECT_EQ(inquiries.about(of_route("/paid")).retention, hour);
}

TEST_F(inquiries_test, of_two_routes_the_one_with_the_method_counts) {
  route("/paid", hour);
  route("/paid", 2 * hour).method = {"PATCH"};
  const inquiries inquiries(pool, routes, &query);
  EXPECT_EQ(inquiries.about(of_route("/paid", "PATCH")).retention, 2 * hour);
  EXPECT_EQ(inquiries.about(of_route("/paid", "POST")).retention, hour);
}

TEST_F(inquiries_test, a_route_that_is_gone_counts_as_the_last_resort) {
  route("/", hour, "http://a/{scope}/{key}");
  route("/paid", 2 * hour);
  const inquiries inquiries(pool, routes, nullptr);
  const auto gone = inquiries.about(of_route("/gone"));
  EXPECT_EQ(gone.retention, hour);
  EXPECT_EQ(gone.source->name(), "probe");
  EXPECT_EQ(inquiries.about(of_route("/paid")).source, nullptr);
}

TEST_F(inquiries_test, no_probe_is_made_without_a_prober) {
  route("/", hour);
  EXPECT_FALSE(inquiries(pool, routes, nullptr).any());
  EXPECT_TRUE(inquiries(pool, routes, &query).any());
  route("/paid", hour, "http://a/{scope}/{key}");
  EXPECT_TRUE(inquiries(pool, routes, nullptr).any());
}

}  // namespace
}  // namespace onceguard::gateway
