#include <set>

#include <gtest/gtest.h>

#include "config/all_options.hpp"
#include "config/load.hpp"

namespace onceguard::config {
namespace {

std::string label(const section& s, const option& o) {
  return std::string(s.title) + " " + std::string(o.name);
}

TEST(table_of_options, has_each_flag_once) {
  std::set<std::string_view> flags;
  for (const auto* o : flag_options()) EXPECT_TRUE(flags.insert(o->flag).second) << o->flag;
}

TEST(table_of_options, has_each_name_once_in_a_table) {
  for (const auto& s : sections()) {
    std::set<std::string_view> names;
    for (const auto* o : s.options) EXPECT_TRUE(names.insert(o->name).second) << label(s, *o);
    if (!s.policies) continue;
    for (const auto& r : policy_rows()) EXPECT_TRUE(names.insert(r.spec.name).second);
  }
}

TEST(table_of_options, describes_everything) {
  for (const auto& s : sections()) {
    EXPECT_FALSE(s.text.empty());
    for (const auto* o : s.options) {
      EXPECT_TRUE(o->text.ends_with('.')) << label(s, *o);
      const bool numeric = o->kind == value_kind::integer || o->kind == value_kind::size ||
                           o->kind == value_kind::duration;
      EXPECT_EQ(numeric, o->max > 0 && o->kind != value_kind::status) << label(s, *o);
      const bool words = o->kind == value_kind::choice || o->kind == value_kind::outcomes;
      EXPECT_EQ(words, !o->choices.empty()) << label(s, *o);
    }
  }
}

TEST(table_of_options, takes_its_own_defaults_and_examples) {
  const std::set<std::string> without_default{
      "[[upstream]] name",  "[[upstream]] url", "[[upstream]] identity",
      "[[route]] upstream", "[[consume]] to",   "[[consume]] subscriber",
      "[[consume]] from",   "[[webhook]] name", "[[webhook]] signature",
      "[[relay]] name",     "[[relay]] outbox", "[[relay]] to",
      "[[policy]] name"};
  for (const auto& s : sections()) {
    for (const auto* o : s.options) {
      remarks remarks;
      const bool has = read_text(*o, o->fallback, {}, {}, remarks).has_value();
      EXPECT_EQ(has, !without_default.contains(label(s, *o))) << label(s, *o);
      // These files are read along with the option, and there are none of these names.
      const bool read_too = o->name == "encryption_keys_file" || o->name == "key_pepper_file";
      if (o->example.empty() || read_too) continue;
      EXPECT_TRUE(read_text(*o, o->example, {}, {}, remarks)) << label(s, *o);
    }
  }
}

// The rooms' own defaults (for tests and other programs) and the table's are the same.
TEST(table_of_options, agrees_with_the_parameters_of_the_rooms) {
  sources sources;
  sources.flags["upstream"] = "http://127.0.0.1:9000";
  const auto read = load_text("", sources);
  ASSERT_TRUE(read.ok());
  const auto& g = read.values.gateway;
  const gateway::gateway_params own;
  EXPECT_EQ(g.listen, own.listen);
  EXPECT_EQ(g.threads, own.threads);
  EXPECT_EQ(g.max_connections, own.max_connections);
  EXPECT_EQ(g.max_buffered, own.max_buffered);
  EXPECT_EQ(g.replay_cache, own.replay_cache);
  EXPECT_EQ(g.settle_wait, own.settle_wait);
  EXPECT_EQ(g.drain, own.drain);
  EXPECT_EQ(g.problem_base, own.problem_base);
  EXPECT_EQ(g.state_dir, own.state_dir);
  EXPECT_EQ(g.trusted_proxies, own.trusted_proxies);
  EXPECT_EQ(g.max_header_bytes, own.max_header_bytes);
  EXPECT_EQ(g.max_header_count, own.max_header_count);
  EXPECT_EQ(g.header_timeout, own.header_timeout);
  EXPECT_EQ(g.body_timeout, own.body_timeout);
  EXPECT_EQ(g.idle_timeout, own.idle_timeout);
  EXPECT_EQ(g.connect_timeout, own.connect_timeout);
  EXPECT_EQ(g.write_timeout, own.write_timeout);
  EXPECT_EQ(g.min_client_rate, own.min_client_rate);
  EXPECT_EQ(g.max_waiters, own.max_waiters);
  EXPECT_EQ(g.store_timeout, own.store_timeout);
  EXPECT_EQ(g.sweep_interval, own.sweep_interval);
  EXPECT_EQ(g.after_loss, own.after_loss);
  EXPECT_EQ(read.values.store.url, store_params{}.url);
  EXPECT_EQ(read.values.store.timeout, store_params{}.timeout);
}

TEST(table_of_options, agrees_with_the_policy_of_the_core) {
  sources sources;
  sources.need_upstream = false;
  const auto read = load_text("", sources);
  const auto& p = read.values.defaults;
  const route_policy own;
  EXPECT_EQ(p.methods, own.methods);
  EXPECT_EQ(p.key, own.key);
  EXPECT_EQ(p.required, own.required);
  EXPECT_EQ(p.key_syntax, own.key_syntax);
  EXPECT_EQ(p.key_format, own.key_format);
  EXPECT_EQ(p.scope, own.scope);
  EXPECT_EQ(p.fingerprint, own.fingerprint);
  EXPECT_EQ(p.keep, own.keep);
  EXPECT_EQ(p.outcome_status, own.outcome_status);
  EXPECT_EQ(p.outcome_class, own.outcome_class);
  EXPECT_EQ(p.outcome_parts, own.outcome_parts);
  EXPECT_EQ(p.keep_body, own.keep_body);
  EXPECT_EQ(p.backoff, own.backoff);
  EXPECT_EQ(p.backoff_max, own.backoff_max);
  EXPECT_EQ(p.lease, own.lease);
  EXPECT_EQ(p.retention, own.retention);
  EXPECT_EQ(p.unknown_retention, own.unknown_retention);
  EXPECT_EQ(p.on_busy, own.on_busy);
  EXPECT_EQ(p.wait, own.wait);
  EXPECT_EQ(p.unknown, own.unknown);
  EXPECT_EQ(p.probe, own.probe);
  EXPECT_EQ(p.probe_mode, own.probe_mode);
  EXPECT_EQ(p.probe_present, own.probe_present);
  EXPECT_EQ(p.probe_absent, own.probe_absent);
  EXPECT_EQ(p.effect, own.effect);
  EXPECT_EQ(p.store_failure, own.store_failure);
  EXPECT_EQ(p.max_request_body, own.max_request_body);
  EXPECT_EQ(p.max_answer_body, own.max_answer_body);
  EXPECT_EQ(p.upstream_timeout, own.upstream_timeout);
  EXPECT_EQ(p.keep_set_cookie, own.keep_set_cookie);
  EXPECT_EQ(p.pick, own.pick);
  EXPECT_EQ(p.redact, own.redact);
  EXPECT_EQ(p.quota_in_flight, own.quota_in_flight);
  EXPECT_EQ(p.quota_new_keys, own.quota_new_keys);
  EXPECT_EQ(p.quota_live_records, own.quota_live_records);
  EXPECT_EQ(p.quota_live_bytes, own.quota_live_bytes);
}

TEST(answer_parts, are_values_and_headers) {
  sources alone;
  alone.need_upstream = false;
  const auto read = load_text(
      "[defaults]\nredact = [\"/card/number\", \"header:X-Session\", \"/items/*/code\"]\n"
      "answer_pick = [\"header:Location\", \"/id\"]\n"
      "quota_in_flight = 3\nquota_new_keys = 4\n"
      "quota_live_records = 5\nquota_live_bytes = \"6KiB\"\n",
      alone);
  const auto& p = read.values.defaults;
  EXPECT_EQ(p.redact, (answer_parts{{"/card/number", "/items/*/code"}, {"x-session"}}));
  EXPECT_EQ(p.pick, (answer_parts{{"/id"}, {"location"}}));
  EXPECT_EQ(p.quota_in_flight, 3u);
  EXPECT_EQ(p.quota_new_keys, 4u);
  EXPECT_EQ(p.quota_live_records, 5u);
  EXPECT_EQ(p.quota_live_bytes, 6u * 1024);
}

TEST(variable, is_the_flag_in_capitals) {
  EXPECT_EQ(upstream_flag().variable(), "ONCEGUARD_UPSTREAM");
  EXPECT_EQ((option{.flag = "max-header-bytes"}).variable(), "ONCEGUARD_MAX_HEADER_BYTES");
}

}  // namespace
}  // namespace onceguard::config
