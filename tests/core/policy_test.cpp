// What is kept: what a whole answer's status means for the record. And the names of things.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <onceguard/policy.hpp>

namespace onceguard {
namespace {

constexpr auto complete = outcome_rule::complete;
constexpr auto release = outcome_rule::release;
constexpr auto unknown = outcome_rule::unknown;
constexpr auto fail = outcome_rule::fail;

route_policy keeping(keep_rule keep) {
  route_policy policy;
  policy.keep = keep;
  return policy;
}

/// The contract's three columns, for every status that an answer can carry.
outcome_rule expected(keep_rule keep, int status) {
  if (status < 200) return unknown;
  if (keep == keep_rule::all || status < 400) return complete;
  if (status == 501 || status == 503) return release;
  if (status >= 500) return unknown;
  const std::set<int> passing{408, 409, 425, 429};
  return keep == keep_rule::final && !passing.contains(status) ? complete : release;
}

TEST(policy, every_status_under_every_keep_rule) {
  for (const auto keep : {keep_rule::success, keep_rule::final, keep_rule::all}) {
    const auto policy = keeping(keep);
    for (int status = 0; status < 1000; ++status) {
      EXPECT_EQ(outcome_of(policy, static_cast<std::uint16_t>(status)), expected(keep, status))
          << status << " under keep rule " << static_cast<int>(keep);
    }
  }
}

struct row {
  std::uint16_t status;
  outcome_rule success;
  outcome_rule final;
  outcome_rule all;
};
constexpr row rows[] = {
    {101, unknown, unknown, unknown},    {200, complete, complete, complete},
    {204, complete, complete, complete}, {303, complete, complete, complete},
    {400, release, complete, complete},  {402, release, complete, complete},
    {408, release, release, complete},   {409, release, release, complete},
    {425, release, release, complete},   {429, release, release, complete},
    {422, release, complete, complete},  {499, release, complete, complete},
    {500, unknown, unknown, complete},   {501, release, release, complete},
    {502, unknown, unknown, complete},   {503, release, release, complete},
    {504, unknown, unknown, complete},   {599, unknown, unknown, complete},
};

TEST(policy, the_statuses_that_matter) {
  for (const auto& r : rows) {
    EXPECT_EQ(outcome_of(keeping(keep_rule::success), r.status), r.success) << r.status;
    EXPECT_EQ(outcome_of(keeping(keep_rule::final), r.status), r.final) << r.status;
    EXPECT_EQ(outcome_of(keeping(keep_rule::all), r.status), r.all) << r.status;
  }
}

TEST(policy, a_single_status_goes_before_its_class_and_both_before_the_keep_rule) {
  route_policy policy;
  policy.outcome_class = {{5, release}, {2, unknown}};
  policy.outcome_status = {{402, complete}, {500, fail}, {503, unknown}};
  EXPECT_EQ(outcome_of(policy, 402), complete);
  EXPECT_EQ(outcome_of(policy, 404), release);
  EXPECT_EQ(outcome_of(policy, 500), fail);
  EXPECT_EQ(outcome_of(policy, 502), release);
  EXPECT_EQ(outcome_of(policy, 503), unknown);
  EXPECT_EQ(outcome_of(policy, 201), unknown);
  EXPECT_EQ(outcome_of(policy, 302), complete);
  policy.keep = keep_rule::all;
  EXPECT_EQ(outcome_of(policy, 502), release);
  EXPECT_EQ(outcome_of(policy, 404), complete);
}

TEST(policy, a_lease_that_is_not_renewed_lasts_for_the_upstreams_timeout) {
  route_policy policy;
  policy.lease = milliseconds(1'000);
  policy.upstream_timeout = milliseconds(60'000);
  EXPECT_EQ(lease_length(policy), policy.lease);
  policy.effect = effect_rule::transactional;
  EXPECT_EQ(lease_length(policy), policy.upstream_timeout);
  policy.lease = milliseconds(90'000);
  EXPECT_EQ(lease_length(policy), policy.lease);
}

TEST(policy, scope_rules_as_text) {
  EXPECT_EQ(scope_rule{}.text(), "credential");
  EXPECT_EQ((scope_rule{scope_source::header, "x-tenant"}.text()), "header:x-tenant");
  EXPECT_EQ((scope_rule{scope_source::cookie, "Session"}.text()), "cookie:Session");
  EXPECT_EQ((scope_rule{scope_source::address, ""}.text()), "address");
  EXPECT_EQ((scope_rule{scope_source::jwt, "sub"}.text()), "jwt:sub");
  EXPECT_EQ((scope_rule{scope_source::none, ""}.text()), "none");
}

/// The names of the enumerators from `first` to `last`: each its own, lower_snake.
template <class Enum>
std::set<std::string_view> names(Enum first, Enum last) {
  std::set<std::string_view> found;
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
    const auto name = name_of(static_cast<Enum>(i));
    EXPECT_NE(name, "invalid");
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
    EXPECT_TRUE(found.insert(name).second) << name;
  }
  EXPECT_EQ(name_of(static_cast<Enum>(static_cast<int>(last) + 1)), "invalid");
  return found;
}

TEST(names, say_what_scripts_rely_on) {
  using strings = std::set<std::string_view>;
  const strings states{"started", "in_progress", "probing", "completed", "failed", "released"};
  EXPECT_EQ(names(record_state::started, record_state::released), states);
  auto observed = states;
  observed.insert("unknown");
  EXPECT_EQ(names(observed_state::started, observed_state::unknown), observed);
  EXPECT_EQ(names(unknown_reason::none, unknown_reason::probe_inconclusive),
            (strings{"none", "holder_gone", "upstream_status", "upstream_timeout",
                     "upstream_broken", "upgraded", "abandoned", "probe_inconclusive"}));
  EXPECT_EQ(names(answer_kept::full, answer_kept::none),
            (strings{"full", "status_only", "too_large", "streamed", "none"}));
  EXPECT_EQ(names(errc::store_unreachable, errc::broker_unreachable),
            (strings{"store_unreachable", "store_full", "store_lost", "record_unreadable",
                     "not_found", "conflict", "invalid_argument", "overloaded", "stopped",
                     "write_conflict", "broker_unreachable"}));
}

}  // namespace
}  // namespace onceguard
