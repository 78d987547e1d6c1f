// Holds model/decide_table.txt, from which the checked model decides, against the real functions.
#include <string_view>

#include "core/decide_walk.hpp"

namespace onceguard {
namespace {

using word = std::string_view;
using words = std::vector<word>;

bool fits(word wanted, word given) { return wanted == "any" || wanted == given; }

struct row {
  words when;
  words then;
};

std::vector<row> claim_rows() {
  return {
#define CLAIM(s, c, l, p, u, v, n, d) {{#s, #c, #l, #p, #u}, {#v, #n, #d}},
#include "../../model/decide_table.txt"
#undef CLAIM
  };
}

std::vector<row> settle_rows() {
  return {
#define SETTLE(s, l, k, d, o, n, e) {{#s, #l, #k, #d}, {#o, #n, #e}},
#include "../../model/decide_table.txt"
#undef SETTLE
  };
}

std::vector<row> extend_rows() {
  return {
#define EXTEND(s, l, a, w, o, n, e) {{#s, #l, #a, #w}, {#o, #n, #e}},
#include "../../model/decide_table.txt"
#undef EXTEND
  };
}

std::vector<row> resolve_rows() {
  return {
#define RESOLVE(s, l, w, f, o, n) {{#s, #l, #w, #f}, {#o, #n}},
#include "../../model/decide_table.txt"
#undef RESOLVE
  };
}

/// The one row that fits; a table in which none or two fit says nothing.
words row_for(const std::vector<row>& rows, const words& given) {
  words out;
  int found = 0;
  for (const auto& each : rows) {
    bool all = true;
    for (std::size_t i = 0; i < given.size(); ++i) all = all && fits(each.when[i], given[i]);
    if (all) out = each.then, ++found;
  }
  EXPECT_EQ(found, 1) << ::testing::PrintToString(given);
  return out;
}

/// Each combination of the words.
std::vector<words> product(const std::vector<words>& columns) {
  std::vector<words> out{{}};
  for (const auto& column : columns) {
    std::vector<words> longer;
    for (const auto& so_far : out) {
      for (const auto value : column) longer.push_back(so_far), longer.back().push_back(value);
    }
    out = std::move(longer);
  }
  return out;
}

const words states{"absent",    "started",  "in_progress", "probing",
                   "completed", "resolved", "failed",      "released"};

constexpr instant now{.lease = 1'000'000, .wall = 1'700'000'000'000};
constexpr token held_token = 7;
constexpr token next_token = 8;

record_state state_of(word name) {
  if (name == "started") return record_state::started;
  if (name == "in_progress" || name == "unknown") return record_state::in_progress;
  if (name == "probing") return record_state::probing;
  if (name == "failed") return record_state::failed;
  if (name == "released") return record_state::released;
  return record_state::completed;
}

std::optional<record> record_in(word state, word lease, bool in_doubt) {
  if (state == "absent") return std::nullopt;
  record r;
  r.about = about();
  r.state = state_of(state);
  r.by_operator = state == "resolved";
  r.token = held_token;
  r.claim_id = claim_id_of(1);
  r.attempt = 1;
  r.claimed_at_wall = now.wall - 10 * hour;
  const auto end = lease == "runs" ? now.lease + 500 : lease == "tail" ? now.lease - 1 : 0;
  (state == "failed" ? r.retry_at_lease : r.deadline_lease) = end;
  r.earlier_unknown = in_doubt;
  return r;
}

const record* there(const std::optional<record>& r) { return r ? &*r : nullptr; }

/// `write` is what the row says became of a record in `state`.
void expect_next(const std::optional<record>& write, word next, word in_doubt, bool was_in_doubt) {
  if (next == "keep") {
    if (!write) return;
    EXPECT_NE(write->state, record_state::completed);  // a renewal, at most
    EXPECT_EQ(write->token, held_token);
  } else {
    ASSERT_TRUE(write);
    EXPECT_EQ(write->state, state_of(next));
    EXPECT_EQ(write->by_operator, next == "resolved");
    if (next == "unknown") {
      EXPECT_EQ(observe(*write, now), observed_state::unknown);
    }
  }
  if (!write) return;
  EXPECT_EQ(write->earlier_unknown, in_doubt == "set" || (in_doubt == "keep" && was_in_doubt));
}

word name_of(verdict_kind kind) {
  constexpr word names[] = {"run",     "replay",  "busy",   "mismatch",
                            "backoff", "unknown", "remake", "refused"};
  return names[static_cast<std::size_t>(kind)];
}

word name_of(settle_outcome outcome) {
  constexpr word names[] = {"done", "incident", "stale"};
  return names[static_cast<std::size_t>(outcome)];
}

word name_of(resolve_outcome outcome) {
  constexpr word names[] = {"done", "not_found", "running", "already_completed", "changed"};
  return names[static_cast<std::size_t>(outcome)];
}

TEST(decide_table, claims) {
  const auto rows = claim_rows();
  for (const auto& given : product({states,
                                    {"same", "other"},
                                    {"runs", "over"},
                                    {"equal", "differs"},
                                    {"hold", "probe", "rerun"}})) {
    SCOPED_TRACE(::testing::PrintToString(given));
    const auto expected = row_for(rows, given);
    ASSERT_EQ(expected.size(), 3U);
    const auto stored = record_in(given[0], given[2], false);
    for (const bool into_started : {false, true}) {
      auto request =
          claim_of(given[1] == "same" ? 1 : 2, given[4] == "hold"    ? unknown_policy::hold
                                               : given[4] == "probe" ? unknown_policy::probe
                                                                     : unknown_policy::rerun);
      request.about = about(given[3] == "equal" ? 1 : 2);
      request.into_started = into_started;
      const auto is = decide(there(stored), request, now, next_token);
      EXPECT_EQ(name_of(is.verdict.kind), expected[0]);
      EXPECT_EQ(is.write.has_value(), expected[1] != "keep");
      if (!is.write) continue;
      const auto next = expected[1] != "target" ? expected[1]
                        : into_started          ? "started"
                                                : "in_progress";
      expect_next(is.write, next, expected[2], false);
      EXPECT_EQ(is.write->token, next_token);
      EXPECT_EQ(is.write->claim_id, request.claim_id);
      EXPECT_EQ(is.write->about->print, request.about->print);
    }
  }
}

TEST(decide_table, an_expired_record_is_absent_to_a_claim_but_for_its_claim_id) {
  for (const word state : {"completed", "failed", "resolved"}) {
    auto stored = record_in(state, "over", false);
    stored->expires_at_wall = now.wall;
    EXPECT_EQ(decide(&*stored, claim_of(2), now, next_token).verdict.kind, verdict_kind::run);
  }
}

TEST(decide_table, settles) {
  const auto rows = settle_rows();
  for (const auto& given : product({states,
                                    {"same", "other"},
                                    {"complete", "fail", "release", "withdraw", "abandon"},
                                    {"no", "yes"}})) {
    SCOPED_TRACE(::testing::PrintToString(given));
    const auto expected = row_for(rows, given);
    ASSERT_EQ(expected.size(), 3U);
    const bool in_doubt = given[3] == "yes";
    const auto stored = record_in(given[0], "over", in_doubt);
    lease l;
    l.token = given[2] == "withdraw" ? 0 : given[1] == "same" ? held_token : held_token - 1;
    l.claim_id = claim_id_of(given[1] == "same" ? 1 : 2);
    const auto kind = given[2] == "complete"  ? settle_kind::complete
                      : given[2] == "fail"    ? settle_kind::fail
                      : given[2] == "abandon" ? settle_kind::abandon
                                              : settle_kind::release;
    const auto is = decide_settle(there(stored), settle_of(l, kind), now);
    EXPECT_EQ(name_of(is.result.outcome), expected[0]);
    EXPECT_EQ(is.write.has_value(), expected[1] != "keep");
    expect_next(is.write, expected[1], expected[2], in_doubt && stored);
  }
}

TEST(decide_table, extensions) {
  const auto rows = extend_rows();
  for (const auto& given :
       product({states, {"same", "other"}, {"no", "yes"}, {"renew", "dispatch"}})) {
    for (const bool in_doubt : {false, true}) {
      SCOPED_TRACE(::testing::PrintToString(given));
      const auto expected = row_for(rows, given);
      ASSERT_EQ(expected.size(), 3U);
      auto stored = record_in(given[0], "over", in_doubt);
      if (stored && given[2] == "yes") stored->retry_at_lease = now.lease;
      lease l;
      l.token = given[1] == "same" ? held_token : held_token - 1;
      l.claim_id = claim_id_of(given[1] == "same" ? 1 : 2);
      const auto is = decide_extension(
          there(stored), extend_lease({}, l, milliseconds(1'000), given[3] == "dispatch"), now);
      EXPECT_EQ(is.stale ? "stale" : "done", expected[0]);
      EXPECT_EQ(is.write.has_value(), expected[0] == "done");
      if (is.write) {
        EXPECT_EQ(observe(*is.write, now), static_cast<observed_state>(is.write->state));
      }
      if (is.write && expected[1] == "keep") {
        EXPECT_EQ(is.write->state, stored->state);
      }
      expect_next(is.write, expected[1], expected[2], in_doubt);
    }
  }
}

TEST(decide_table, resolutions) {
  const auto rows = resolve_rows();
  for (const auto& given :
       product({states, {"runs", "tail", "over"}, {"complete", "release"}, {"no", "yes"}})) {
    SCOPED_TRACE(::testing::PrintToString(given));
    const auto expected = row_for(rows, given);
    ASSERT_EQ(expected.size(), 2U);
    const auto stored = record_in(given[0], given[1], false);
    resolution request;
    request.completed = given[2] == "complete";
    request.force = given[3] == "yes";
    const auto is = decide_resolution(there(stored), request, now);
    EXPECT_EQ(name_of(is.outcome), expected[0]);
    EXPECT_EQ(is.write.has_value(), expected[1] != "keep");
    if (!is.write) continue;
    EXPECT_EQ(is.write->state, state_of(expected[1]));
    EXPECT_TRUE(is.write->by_operator);
    EXPECT_EQ(is.write->token, held_token);
  }
}

}  // namespace
}  // namespace onceguard
