// An operation whose record may stand at several places: only one of them runs it.
#include "base/random.hpp"
#include "engine/engine_fixture.hpp"

namespace onceguard {
namespace {

class former_scopes_test : public engine_over_faults {
 protected:
  static scoped_operation under_scope(unsigned char scope, std::string key = "k") {
    auto about = std::make_shared<subject>();
    about->scope[0] = scope;
    about->key = std::move(key);
    about->print.method = "exact";
    about->print.value[0] = 1;
    scoped_operation out;
    out.id = make_record_id(about->scope, about->key);
    out.about = std::move(about);
    return out;
  }
  const scoped_operation own = under_scope(0);
  const scoped_operation former = under_scope(1);
  const scoped_operation older = under_scope(2);

  operation moved() {
    auto out = op();
    out.scopes = {own, former, older};
    return out;
  }
  claim claim_of(const scoped_operation& target) {
    claim out;
    out.id = target.id;
    base::random_bytes(out.claim_id);
    out.about = target.about;
    return out;
  }
  /// Another process holds it from here on.
  lease hold(const scoped_operation& target) {
    const auto got = run(io, inner.claim({claim_of(target)}, milliseconds(100))).at(0).value();
    EXPECT_EQ(got.kind, verdict_kind::run);
    return got.lease;
  }
  void settle(const scoped_operation& target, const lease& held, settle_kind settle_kind) {
    settlement s;
    s.id = target.id;
    s.token = held.token;
    s.claim_id = held.claim_id;
    s.about = target.about;
    s.kind = settle_kind;
    EXPECT_TRUE(run(io, inner.settle({s}, milliseconds(100))).at(0));
  }
  /// None: there is no record.
  std::optional<observed_state> state_at(const scoped_operation& target) {
    const auto found = run(io, inner.find(target.id, milliseconds(100))).value();
    return found ? std::optional(found->state) : std::nullopt;
  }
  void begin_moved(counted_work& doing) {
    auto keep = [this](std::exception_ptr, outcome got) { first_ = std::move(got); };
    asio::co_spawn(io, operate(*tested, io, moved(), doing), keep);
  }
  /// Stops the operation when it has looked at the former place, at what it found there then.
  void stop_after_first_find(counted_work& doing) {
    store.fail(store_call::find, store_fault::delay_after, 1);
    begin_moved(doing);
    until([&] { return store.waiting() == 1; });
  }
  outcome go_on() {
    store.let_go();
    until([&] { return first_.has_value(); });
    return *first_;
  }
};

TEST_F(former_scopes_test, what_stands_nowhere_is_made_at_its_own) {
  counted_work w;
  EXPECT_EQ(execute(w, moved()).kind, outcome_kind::ran);
  EXPECT_EQ(execute(w, moved()).kind, outcome_kind::replay);
  EXPECT_EQ(w.runs, 1);
  EXPECT_EQ(state_at(own), observed_state::completed);
  EXPECT_FALSE(state_at(former));
  EXPECT_FALSE(state_at(older));
}

TEST_F(former_scopes_test, what_stands_at_a_former_one_answers) {
  for (const auto& reply : {former, older}) {
    settle(reply, hold(reply), settle_kind::complete);
    counted_work w;
    EXPECT_EQ(execute(w, moved()).kind, outcome_kind::replay);
    EXPECT_EQ(w.runs, 0);
    EXPECT_FALSE(state_at(own));
    resolution forgotten;
    forgotten.id = reply.id;
    EXPECT_TRUE(run(io, inner.resolve(forgotten, milliseconds(100))));
    EXPECT_TRUE(run(io, tested->poll_store()));
  }
}

TEST_F(former_scopes_test, what_was_released_there_counts_as_absent) {
  settle(former, hold(former), settle_kind::release);
  counted_work w;
  EXPECT_EQ(execute(w, moved()).kind, outcome_kind::ran);
  EXPECT_EQ(state_at(own), observed_state::completed);
  EXPECT_EQ(state_at(former), observed_state::released);
}

TEST_F(former_scopes_test, what_may_run_again_there_runs_there) {
  settle(former, hold(former), settle_kind::abandon);
  policy.unknown = unknown_policy::rerun;
  counted_work w;
  EXPECT_EQ(execute(w, moved()).kind, outcome_kind::ran);
  EXPECT_EQ(state_at(former), observed_state::completed);
  EXPECT_FALSE(state_at(own));
}

TEST_F(former_scopes_test, a_claim_made_too_early_gives_way_to_the_record_of_a_former_scope) {
  counted_work w;
  stop_after_first_find(w);
  const auto held = hold(former);
  EXPECT_EQ(go_on().kind, outcome_kind::busy);
  EXPECT_EQ(w.runs, 0);
  EXPECT_EQ(state_at(own), observed_state::released);
  settle(former, held, settle_kind::complete);
  EXPECT_EQ(execute(w, moved()).kind, outcome_kind::replay);
}

TEST_F(former_scopes_test, a_claim_made_too_early_gives_way_to_its_own_record) {
  const auto before = hold(former);
  counted_work w;
  stop_after_first_find(w);
  settle(former, before, settle_kind::release);
  const auto held = hold(own);
  EXPECT_EQ(go_on().kind, outcome_kind::busy);
  EXPECT_EQ(w.runs, 0);
  EXPECT_EQ(state_at(former), observed_state::released);
  settle(own, held, settle_kind::complete);
  EXPECT_EQ(execute(w, moved()).kind, outcome_kind::replay);
}

TEST_F(former_scopes_test, of_two_former_ones_the_completed_one_answers) {
  policy.unknown = unknown_policy::rerun;
  settle(former, hold(former), settle_kind::abandon);
  settle(older, hold(older), settle_kind::complete);
  counted_work w;
  EXPECT_EQ(execute(w, moved()).kind, outcome_kind::replay);
  EXPECT_EQ(w.runs, 0);
  EXPECT_EQ(state_at(former), observed_state::unknown);
}

TEST_F(former_scopes_test, a_key_whose_former_scopes_can_not_be_read_is_not_claimed) {
  store.fail(store_call::find, store_fault::before);
  counted_work w;
  EXPECT_EQ(execute(w, moved()).kind, outcome_kind::store_failed);
  EXPECT_EQ(store.made(store_call::claim), 0u);
  policy.store_failure = store_failure_rule::open;
  EXPECT_EQ(execute(w, moved()).kind, outcome_kind::unguarded);
  EXPECT_EQ(w.runs, 0);
}

TEST_F(former_scopes_test, a_lease_whose_former_scopes_can_not_be_read_again_is_given_back) {
  counted_work w;
  stop_after_first_find(w);
  store.fail(store_call::find, store_fault::delay_after, 1);  // at the older place
  store.let_go();
  until([&] { return store.made(store_call::find) == 2 && store.waiting() == 1; });
  store.fail(store_call::find, store_fault::before, 1);
  EXPECT_EQ(go_on().kind, outcome_kind::store_failed);
  EXPECT_EQ(w.runs, 0);
  EXPECT_EQ(state_at(own), observed_state::released);
}

TEST_F(former_scopes_test, a_fingerprint_is_remade_for_the_scope_that_has_the_record) {
  const std::vector<std::string> callers{"a caller"};
  auto op = moved();
  op.scopes[1].input.more = callers;
  auto differently = std::make_shared<subject>(*former.about);
  differently->print = make_fingerprint(*fingerprint_rule::parse("json"), op.scopes[1].input);
  auto there = former;
  there.about = differently;
  settle(there, hold(there), settle_kind::complete);
  counted_work w;
  EXPECT_EQ(execute(w, op).kind, outcome_kind::replay);
  op.scopes[1].input.more = {};
  EXPECT_EQ(execute(w, op).kind, outcome_kind::mismatch) << "made of something else";
  EXPECT_EQ(w.runs, 0);
}

}  // namespace
}  // namespace onceguard
