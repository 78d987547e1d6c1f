#include <fstream>

#include <gtest/gtest.h>

#include <onceguard/http_config.hpp>

#include "config/load.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::http {
namespace {

config::loaded loaded_by_a_gateway(std::string_view text) {
  config::sources source;
  source.file = "g.toml";
  source.need_upstream = false;
  return config::load_text(text, source);
}

std::string refusal_of(std::string_view text) {
  const auto read = parse_routes(text, "s.toml");
  return read ? std::string() : read.error().detail;
}

TEST(routes_of_a_service, are_one_by_default_with_the_defaults_of_the_gateway) {
  const auto read = parse_routes("").value();
  ASSERT_EQ(read.routes.size(), 1u);
  EXPECT_EQ(read.routes[0].path, "/");
  EXPECT_EQ(read.routes[0].host, "");
  const auto gateway = loaded_by_a_gateway("").values;
  const auto& here = read.routes[0].policy;
  const auto& there = gateway.routing.routes[0].policy;
  EXPECT_EQ(here.methods, there.methods);
  EXPECT_EQ(here.lease, there.lease);
  EXPECT_EQ(here.retention, there.retention);
  EXPECT_EQ(here.max_answer_body, there.max_answer_body);
  EXPECT_EQ(here.exception, exception_rule::unknown);
  EXPECT_TRUE(read.warnings.empty());
}

TEST(routes_of_a_service, have_the_options_of_the_gateway_s_routes) {
  const auto read = parse_routes(R"(
[defaults]
retention = "48h"
exception = "release"

[[route]]
path = "/v1/payments"
host = "Pay.example"
match_method = ["POST", "SETTLE"]
methods = ["POST", "SETTLE"]
required = true
scope = "header:X-Tenant"
fingerprint = "json"
fingerprint_omit = ["/sent_at"]
outcome = { "402" = "complete", "5xx" = "unknown" }
max_answer_body = "2KiB"
on_busy = "wait"
wait = "3s"
)")
                        .value();
  ASSERT_EQ(read.routes.size(), 2u);
  const auto& route = read.routes[0];
  EXPECT_EQ(route.path, "/v1/payments");
  EXPECT_EQ(route.host, "pay.example");
  EXPECT_EQ(route.method, (std::vector<std::string>{"POST", "SETTLE"}));
  EXPECT_EQ(route.policy.methods, (std::vector<std::string>{"POST", "SETTLE"}));
  EXPECT_TRUE(route.policy.required);
  EXPECT_EQ(route.policy.scope.text(), "header:x-tenant");
  EXPECT_EQ(route.policy.fingerprint.pointers, std::vector<std::string>{"/sent_at"});
  EXPECT_EQ(route.policy.outcome_status.at(402), outcome_rule::complete);
  EXPECT_EQ(route.policy.max_answer_body, 2'048u);
  EXPECT_EQ(route.policy.on_busy, on_busy_rule::wait);
  EXPECT_EQ(route.policy.wait, milliseconds(3'000));
  EXPECT_EQ(route.policy.retention, milliseconds(48 * 3'600'000));
  EXPECT_EQ(route.policy.exception, exception_rule::release);
  EXPECT_EQ(read.routes[1].path, "/");
  EXPECT_FALSE(read.routes[1].policy.required);
}

TEST(routes_of_a_service, are_refused_with_everything_that_is_wrong_and_where) {
  EXPECT_EQ(refusal_of("[defaults]\nlease = \"10ms\"\nretentoin = \"1h\"\n"
                       "[[route]]\npath = \"pay\"\n"),
            "s.toml:2:9: [defaults] lease: expected a duration from 1s to 1d, got \"10ms\"\n"
            "s.toml:3:1: [defaults] unknown option \"retentoin\"; did you mean \"retention\"?\n"
            "s.toml:5:8: [[route]] path: expected a path such as \"/v1/payments\" that begins with "
            "a slash, got \"pay\"");
  EXPECT_EQ(refusal_of("[[route]]\npath = \"/a\"\n[[route]]\npath = \"/a\"\n"),
            "s.toml:3:1: [[route]] fits the same requests as the one in line 1");
  EXPECT_EQ(refusal_of("[default]\n"),
            "s.toml:1:2: unknown table \"default\"; did you mean \"defaults\"?");
  EXPECT_EQ(refusal_of("lease = \"30s\"\n"),
            "s.toml:1:1: unknown option \"lease\"; it belongs in [defaults]");
  EXPECT_EQ(refusal_of("[=\n"), "s.toml:1:2: not TOML: something else was expected here");
}

TEST(routes_of_a_service, have_nothing_that_only_a_gateway_has) {
  EXPECT_EQ(refusal_of("[gateway]\nlisten = \"127.0.0.1:80\"\n[[upstream]]\nname = \"a\"\n"),
            "s.toml:1:2: the table \"gateway\" is for the gateway; a service has [defaults] and "
            "[[route]]\n"
            "s.toml:3:3: the table \"upstream\" is for the gateway; a service has [defaults] and "
            "[[route]]");
  EXPECT_EQ(refusal_of("[[route]]\nupstream = \"a\"\n"),
            "s.toml:2:1: [[route]] upstream: is for the gateway, not for a service");
  EXPECT_EQ(refusal_of("[defaults]\nupstream_timeout = \"5s\"\nprobe = \"http://a/\"\n"),
            "s.toml:2:1: [defaults] upstream_timeout: is for the gateway, not for a service\n"
            "s.toml:3:1: [defaults] probe: is for the gateway, not for a service");
}

TEST(routes_of_a_service, may_ask_the_application_without_an_address) {
  EXPECT_EQ(parse_routes("[defaults]\nunknown = \"probe\"\n").value().routes[0].policy.unknown,
            unknown_policy::probe);
}

TEST(routes_of_a_service, come_with_warnings_of_weaker_promises) {
  const auto read = parse_routes("[defaults]\nunknown = \"rerun\"\n", "s.toml").value();
  EXPECT_EQ(read.warnings,
            std::vector<std::string>{"s.toml:2:11: warning: [defaults] unknown: \"rerun\" promises "
                                     "at least once after a crash, not once"});
}

TEST(routes_of_a_service, come_from_a_file) {
  const onceguard::testing::temporary_folder folder;
  const auto path = folder.file("routes.toml");
  std::ofstream(path) << "[[route]]\npath = \"/a\"\nrequired = 1\n";
  EXPECT_EQ(read_routes(path).error().detail,
            path + ":3:12: [[route]] required: expected true or false, got the number 1");
  std::ofstream(path) << "[[route]]\npath = \"/a\"\n";
  EXPECT_EQ(read_routes(path).value().routes[0].path, "/a");
  const auto absent = read_routes(path + ".old").error();
  EXPECT_EQ(absent.code, errc::invalid_argument);
  EXPECT_EQ(absent.detail, path + ".old: can't be read: No such file or directory");
}

TEST(gateway_s_routes, have_nothing_that_only_a_service_has) {
  const auto read = loaded_by_a_gateway("[defaults]\nexception = \"release\"\n");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.remarks.back().text(),
            "g.toml:2:1: [defaults] exception: is for services that use the library, not for the "
            "gateway");
}

}  // namespace
}  // namespace onceguard::http
