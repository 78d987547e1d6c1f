#include "config/load.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "config/remark_texts.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::config {
namespace {

sources from_file() {
  sources source;
  source.file = "c.toml";
  return source;
}

constexpr std::string_view full_file = R"([gateway]
listen = "0.0.0.0:80"
threads = 3
max_connections = 77
max_buffered = "8MiB"
replay_cache = 4096
settle_wait = "1s"
drain = "90s"
problem_base = "https://docs.example.com/p/"
state_dir = "/var/lib/onceguard"
trusted_proxies = ["10.0.0.0/8", "::1"]
max_header_bytes = "16KiB"
max_header_count = 50
header_timeout = "1s"
body_timeout = "2s"
idle_timeout = "3s"
connect_timeout = "4s"
write_timeout = "5s"
max_waiters = 6

[store]
url = "memory:"
timeout = "250ms"
sweep = "30s"
after_loss = "flag"

[reconcile]
interval = "5m"
query = "SELECT status FROM payments WHERE scope = $1 AND key = $2"
absent = "unknown"
database = "postgresql://reader@host/shop"

[log]
level = "debug"
format = "json"

[defaults]
methods = ["POST", "PUT"]
required = true
key_syntax = "strict"
key_format = "uuid"
scope = "header:X-Tenant"
previous_scope = ["credential", "cookie:sid"]
fingerprint = "json"
fingerprint_omit = ["/sent_at", "/a~1b"]
keep = "final"
outcome = { "5xx" = "release", 402 = "complete", "503" = "unknown", 500 = "fail" }
answer = "status"
backoff = "2s"
backoff_max = "20s"
lease = "10s"
retention = "7d"
unknown_retention = "30d"
on_busy = "wait"
wait = "5s"
unknown = "probe"
probe = "http://127.0.0.1:9000/outcome/{scope}/{key}"
probe_mode = "ask"
probe_present = "200"
probe_absent = 404
store_failure = "open"
max_request_body = "64KiB"
max_answer_body = 1000
upstream_timeout = "20s"
keep_set_cookie = true

[[upstream]]
name = "payments"
identity = "first"
url = "http://127.0.0.1:9000/base/"

[[upstream]]
name = "mail"
url = "http://[::1]"

[[route]]
host = "API.example.com"
path = "/v1/mail/"
match_method = ["POST"]
upstream = "mail"
fingerprint = "exact"
unknown = "hold"
)";

TEST(load, fills_in_every_parameter_of_the_gateway) {
  const auto read = load_text(full_file, from_file());
  ASSERT_TRUE(read.ok()) << texts_of(read);
  const auto& g = read.values.gateway;
  EXPECT_EQ(g.listen, (base::endpoint{"0.0.0.0", 80}));
  EXPECT_EQ(g.threads, 3U);
  EXPECT_EQ(g.max_connections, 77U);
  EXPECT_EQ(g.max_buffered, 8U << 20);
  EXPECT_EQ(g.replay_cache, 4096U);
  EXPECT_EQ(g.settle_wait, milliseconds(1'000));
  EXPECT_EQ(g.drain, milliseconds(90'000));
  EXPECT_EQ(g.problem_base, "https://docs.example.com/p/");
  EXPECT_EQ(g.state_dir, "/var/lib/onceguard");
  EXPECT_EQ(g.trusted_proxies, (std::vector<std::string>{"10.0.0.0/8", "::1"}));
  EXPECT_EQ(g.max_header_bytes, 16U << 10);
  EXPECT_EQ(g.max_header_count, 50U);
  EXPECT_EQ(g.header_timeout, milliseconds(1'000));
  EXPECT_EQ(g.body_timeout, milliseconds(2'000));
  EXPECT_EQ(g.idle_timeout, milliseconds(3'000));
  EXPECT_EQ(g.connect_timeout, milliseconds(4'000));
  EXPECT_EQ(g.write_timeout, milliseconds(5'000));
  EXPECT_EQ(g.max_waiters, 6U);
  EXPECT_EQ(g.store_timeout, milliseconds(250));
  EXPECT_EQ(g.sweep_interval, milliseconds(30'000));
  EXPECT_EQ(g.after_loss, gateway::after_loss_rule::flag);
  EXPECT_EQ(g.reconcile_interval, milliseconds(300'000));
  EXPECT_EQ(read.values.store.url, "memory:");
  EXPECT_EQ(read.values.store.timeout, milliseconds(250));
  EXPECT_EQ(read.values.log.level, base::log_level::debug);
  EXPECT_EQ(read.values.log.format, log_format::json);
}

TEST(load, fills_in_every_option_of_a_policy) {
  const auto read = load_text(full_file, from_file());
  ASSERT_TRUE(read.ok()) << texts_of(read);
  const auto& p = read.values.defaults;
  EXPECT_EQ(p.methods, (std::vector<std::string>{"POST", "PUT"}));
  EXPECT_TRUE(p.required);
  EXPECT_EQ(p.key_syntax, key_syntax::strict);
  EXPECT_EQ(p.key_format, key_format::uuid);
  EXPECT_EQ(p.scope, (scope_rule{scope_source::header, "x-tenant"}));
  EXPECT_EQ(p.previous_scope, (std::vector<scope_rule>{{scope_source::credential, ""},
                                                       {scope_source::cookie, "sid"}}));
  EXPECT_EQ(
      p.fingerprint,
      (fingerprint_rule{fingerprint_kind::json, json_selection::omit, {"/sent_at", "/a~1b"}}));
  EXPECT_EQ(p.keep, keep_rule::final);
  EXPECT_EQ(p.outcome_class, (std::map<std::uint16_t, outcome_rule>{{5, outcome_rule::release}}));
  EXPECT_EQ(
      p.outcome_status,
      (std::map<std::uint16_t, outcome_rule>{
          {402, outcome_rule::complete}, {500, outcome_rule::fail}, {503, outcome_rule::unknown}}));
  EXPECT_FALSE(p.keep_body);
  EXPECT_EQ(p.backoff, milliseconds(2'000));
  EXPECT_EQ(p.backoff_max, milliseconds(20'000));
  EXPECT_EQ(p.lease, milliseconds(10'000));
  EXPECT_EQ(p.retention, milliseconds(7 * 86'400'000LL));
  EXPECT_EQ(p.unknown_retention, milliseconds(30 * 86'400'000LL));
  EXPECT_EQ(p.on_busy, on_busy_rule::wait);
  EXPECT_EQ(p.wait, milliseconds(5'000));
  EXPECT_EQ(p.unknown, unknown_policy::probe);
  EXPECT_EQ(p.probe, "http://127.0.0.1:9000/outcome/{scope}/{key}");
  EXPECT_EQ(p.probe_mode, probe_rule::ask);
  EXPECT_EQ(p.probe_present, 200);
  EXPECT_EQ(p.probe_absent, 404);
  EXPECT_EQ(p.store_failure, store_failure_rule::open);
  EXPECT_EQ(p.max_request_body, 65'536U);
  EXPECT_EQ(p.max_answer_body, 1'000U);
  EXPECT_EQ(p.upstream_timeout, milliseconds(20'000));
  EXPECT_TRUE(p.keep_set_cookie);
}

TEST(load, builds_the_routing) {
  const auto read = load_text(full_file, from_file());
  ASSERT_TRUE(read.ok()) << texts_of(read);
  const auto& routing = read.values.routing;
  ASSERT_EQ(routing.upstreams.size(), 2U);
  EXPECT_EQ(routing.upstreams[0],
            (gateway::upstream_params{"payments", {"127.0.0.1", 9000}, "/base", "first"}));
  EXPECT_EQ(routing.upstreams[1], (gateway::upstream_params{"mail", {"::1", 80}, "", "mail"}));
  ASSERT_EQ(routing.routes.size(), 2U);
  const auto& mail = routing.routes[0];
  EXPECT_EQ(mail.host, "api.example.com");
  EXPECT_EQ(mail.path, "/v1/mail");
  EXPECT_EQ(mail.method, std::vector<std::string>{"POST"});
  EXPECT_EQ(mail.upstream, 1U);
  // What the route says goes before [defaults]; the rest is theirs.
  EXPECT_EQ(mail.policy.fingerprint, fingerprint_rule{});
  EXPECT_EQ(mail.policy.unknown, unknown_policy::hold);
  EXPECT_EQ(mail.policy.lease, milliseconds(10'000));
  const auto& rest = routing.routes[1];
  EXPECT_EQ(rest.host, "");
  EXPECT_EQ(rest.path, "/");
  EXPECT_TRUE(rest.method.empty());
  EXPECT_EQ(rest.upstream, 0U);
  EXPECT_EQ(rest.policy.unknown, unknown_policy::probe);
}

TEST(load, makes_one_upstream_and_one_route_of_a_flag) {
  sources sources;
  sources.flags["upstream"] = "http://shop:9000";
  const auto read = load_text("", sources);
  ASSERT_TRUE(read.ok()) << texts_of(read);
  ASSERT_EQ(read.values.routing.upstreams.size(), 1U);
  EXPECT_EQ(read.values.routing.upstreams[0],
            (gateway::upstream_params{"default", {"shop", 9000}, "", "default"}));
  ASSERT_EQ(read.values.routing.routes.size(), 1U);
  EXPECT_EQ(read.values.routing.routes[0].path, "/");
}

TEST(load, lets_the_flag_move_the_only_upstream_of_a_file) {
  auto source = from_file();
  source.flags["upstream"] = "http://other:1";
  const auto read =
      load_text("[[upstream]]\nname = \"a\"\nidentity = \"first\"\nurl = \"http://b\"\n", source);
  ASSERT_TRUE(read.ok()) << texts_of(read);
  ASSERT_EQ(read.values.routing.upstreams.size(), 1U);
  EXPECT_EQ(read.values.routing.upstreams[0],
            (gateway::upstream_params{"a", {"other", 1}, "", "first"}));
}

TEST(load, keeps_the_last_resort_that_a_file_names) {
  const auto read = load_text(
      "[[upstream]]\nname = \"a\"\nurl = \"http://a\"\n[[route]]\nrequired = true\n", from_file());
  ASSERT_TRUE(read.ok()) << texts_of(read);
  ASSERT_EQ(read.values.routing.routes.size(), 1U);
  EXPECT_TRUE(read.values.routing.routes[0].policy.required);
}

TEST(load, lets_the_later_source_win) {
  auto source = from_file();
  source.need_upstream = false;
  const std::string_view file = "[defaults]\nlease = \"10s\"\nkeep = \"all\"\nwait = \"1s\"\n";
  source.environment = {
      {"ONCEGUARD_LEASE", "11s"}, {"ONCEGUARD_KEEP", "final"}, {"ONCEGUARD_WAIT", ""}};
  source.flags = {{"lease", "12s"}};
  const auto read = load_text(file, source);
  ASSERT_TRUE(read.ok()) << texts_of(read);
  EXPECT_EQ(read.values.defaults.lease, milliseconds(12'000));
  EXPECT_EQ(read.values.defaults.keep, keep_rule::final);
  EXPECT_EQ(read.values.defaults.wait, milliseconds(1'000));  // an empty variable is not set
  EXPECT_EQ(read.values.defaults.retention, milliseconds(86'400'000));
}

TEST(load, takes_rules_on_parts_of_answers) {
  sources sources;
  sources.need_upstream = false;
  const auto read = load_text(
      "[defaults]\noutcome = { \"json:/errors\" = \"unknown\", \"json:/error/code=-32601\" = "
      "\"release\", \"header:X-State=void\" = \"fail\", 402 = \"complete\" }\n",
      sources);
  ASSERT_TRUE(read.ok()) << texts_of(read);
  EXPECT_EQ(read.values.defaults.outcome_parts,
            (std::vector<answer_part>{{true, "/errors", "", outcome_rule::unknown},
                                      {true, "/error/code", "-32601", outcome_rule::release},
                                      {false, "x-state", "void", outcome_rule::fail}}));
  EXPECT_EQ(read.values.defaults.outcome_status.size(), 1U);
}

TEST(load, refuses_rules_on_parts_of_answers_for_messages) {
  const std::string consume =
      "[[consume]]\nsubscriber = \"a\"\nfrom = \"nats://127.0.0.1/S/C\"\n"
      "to = \"http://127.0.0.1:1/\"\ndrop_dead_letters = true\n";
  const std::string parts = "outcome = { \"json:/errors\" = \"unknown\" }\n";
  EXPECT_NE(texts_of(load_text(consume + parts, {})).find("only statuses and classes"),
            std::string::npos);
  EXPECT_EQ(
      texts_of(load_text("[defaults]\n" + parts + consume, {})).find("only statuses and classes"),
      std::string::npos);
}

TEST(load, routes_of_webhooks_have_a_contract_of_their_own) {
  const testing::temporary_folder folder;
  const auto secret = folder.file("secret");
  std::ofstream(secret) << "whsec_Zmlyc3Q=\n";
  const auto route_with = [&](const std::string& defaults, const std::string& own) {
    const auto read = load_text("[defaults]\n" + defaults +
                                    "[[upstream]]\nname = \"a\"\nurl = \"http://127.0.0.1:1\"\n"
                                    "[[route]]\npath = \"/hook\"\nwebhook = \"stripe\"\n"
                                    "webhook_secret_file = \"" +
                                    secret + "\"\n" + own,
                                {});
    EXPECT_TRUE(read.ok()) << texts_of(read);
    return read.values.routing.routes.front().policy;
  };
  const auto plain = route_with("", "");
  EXPECT_EQ(plain.keep, keep_rule::success);
  EXPECT_EQ(plain.retention, std::chrono::hours(7 * 24));
  EXPECT_EQ(plain.fingerprint.kind, fingerprint_kind::none);
  for (const auto* defaults : {"profile = \"stripe\"\n", "profile = \"ietf\"\n", "keep = \"all\"\n",
                               "outcome = { \"500\" = \"complete\" }\n", "retention = \"1h\"\n",
                               "fingerprint = \"json\"\nfingerprint_omit = [\"/a\"]\n"}) {
    const auto made = route_with(defaults, "");
    EXPECT_EQ(made.keep, plain.keep) << defaults;
    EXPECT_EQ(made.outcome_status, plain.outcome_status) << defaults;
    EXPECT_EQ(made.retention, plain.retention) << defaults;
    EXPECT_EQ(made.fingerprint, plain.fingerprint) << defaults;
  }
  const auto own = route_with("keep = \"all\"\n", "keep = \"final\"\nretention = \"8d\"\n");
  EXPECT_EQ(own.keep, keep_rule::final);
  EXPECT_EQ(own.retention, std::chrono::hours(8 * 24));
  EXPECT_EQ(route_with("", "profile = \"ietf\"\n").keep, keep_rule::all);
  EXPECT_EQ(route_with("lease = \"17s\"\n", "").lease, std::chrono::seconds(17));
}

TEST(load, takes_lists_and_outcomes_from_flags) {
  sources sources;
  sources.need_upstream = false;
  sources.flags = {{"methods", "POST, PUT"},
                   {"outcome", "5xx=release, 402=complete, header:Grpc-Status=14=release"},
                   {"trusted-proxies", "10.0.0.0/8,::1"},
                   {"required", "true"},
                   {"max-buffered", "1GiB"}};
  const auto read = load_text("", sources);
  ASSERT_TRUE(read.ok()) << texts_of(read);
  EXPECT_EQ(read.values.defaults.methods, (std::vector<std::string>{"POST", "PUT"}));
  EXPECT_EQ(read.values.defaults.outcome_class.at(5), outcome_rule::release);
  EXPECT_EQ(read.values.defaults.outcome_status.at(402), outcome_rule::complete);
  EXPECT_EQ(read.values.defaults.outcome_parts,
            (std::vector<answer_part>{{false, "grpc-status", "14", outcome_rule::release}}));
  EXPECT_EQ(read.values.gateway.trusted_proxies, (std::vector<std::string>{"10.0.0.0/8", "::1"}));
  EXPECT_TRUE(read.values.defaults.required);
  EXPECT_EQ(read.values.gateway.max_buffered, 1U << 30);
}

TEST(load, finds_the_retention_of_a_record_by_host_and_path) {
  constexpr std::string_view file = R"([defaults]
retention = "1h"
[[upstream]]
name = "a"
url = "http://127.0.0.1:1"
[[route]]
host = "one.test"
path = "/pay"
retention = "2h"
[[route]]
host = "two.test"
path = "/pay"
retention = "3h"
[[route]]
path = "/pay"
retention = "4h"
)";
  const auto read = load_text(file, from_file());
  ASSERT_TRUE(read.ok()) << texts_of(read);
  constexpr milliseconds hour{3'600'000};
  EXPECT_EQ(retention_of(read.values, "one.test/pay"), 2 * hour);
  EXPECT_EQ(retention_of(read.values, "two.test/pay"), 3 * hour);
  EXPECT_EQ(retention_of(read.values, "/pay"), 4 * hour);
  EXPECT_EQ(retention_of(read.values, "gone.test/pay"), hour);
}

TEST(load, says_which_settings_need_a_restart) {
  auto source = from_file();
  source.need_upstream = false;
  const auto running = load_text("", source);
  const auto wanted = load_text(
      "[gateway]\nlisten = \"127.0.0.1:81\"\n[store]\ntimeout = \"3s\"\n"
      "[defaults]\nlease = \"9s\"\n",
      source);
  EXPECT_EQ(fixed_changes(running.values, wanted.values),
            (std::vector<std::string>{"[gateway] listen", "[store] timeout"}));
  EXPECT_TRUE(fixed_changes(running.values, running.values).empty());
}

TEST(load, takes_any_character_in_strings) {
  auto source = from_file();
  source.need_upstream = false;
  // From each range of UTF-8, and those that toml++ by itself takes for white space.
  const std::string path = "/caf\u00e9 \u00a0\u2028\u0499\u3000\ufeff\uffff\U0001f512";
  const auto read = load_text("[gateway] # " + path + "\nstate_dir = '" + path + "'\n", source);
  ASSERT_TRUE(read.ok()) << texts_of(read);
  EXPECT_EQ(read.values.gateway.state_dir, path);
}

TEST(load, refuses_a_file_that_is_not_there) {
  sources sources;
  sources.file = "/nonexistent/c.toml";
  const auto read = load(sources);
  EXPECT_FALSE(read.ok());
  EXPECT_EQ(texts_of(read), "/nonexistent/c.toml: can't be read: No such file or directory\n");
}

TEST(load, refuses_a_directory) {
  sources sources;
  sources.file = "/";
  EXPECT_EQ(texts_of(load(sources)), "/: can't be read: Is a directory\n");
}

TEST(load, refuses_a_file_that_is_too_large) {
  EXPECT_EQ(texts_of(load_text(std::string((1u << 20) + 1, '#'), from_file())),
            "c.toml: larger than 1MiB\n");
}

}  // namespace
}  // namespace onceguard::config
