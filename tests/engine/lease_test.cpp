// A lease while its work runs: who may send under it, when it is renewed, and when no more.
#include "base/random.hpp"
#include "engine/engine_fixture.hpp"

namespace onceguard {
namespace {

class lease_test : public engine_over_faults {
 protected:
  /// A lease of that length, as it was granted to a claim that was sent so long ago.
  std::shared_ptr<held_lease> granted(milliseconds length, milliseconds ago,
                                      const std::string& key = "k") {
    claim request;
    request.id = op(key).id;
    base::random_bytes(request.claim_id);
    request.about = op(key).about;
    request.lease = length;
    const auto got = run(io, inner.claim({request}, milliseconds(100))).at(0).value().lease;
    return std::make_shared<held_lease>(io, store, request.id, got, length, milliseconds(100),
                                        base::boot_now() - ago);
  }
};

constexpr milliseconds minute{60'000};

TEST_F(lease_test, with_a_third_left_the_work_may_begin_and_with_less_go_on) {
  const auto early = granted(minute, minute / 2);
  EXPECT_TRUE(early->begin_sending());
  EXPECT_TRUE(early->may_go_on());
  const auto late = granted(minute, minute * 3 / 4);
  EXPECT_FALSE(late->begin_sending());
  EXPECT_TRUE(late->may_go_on());
  EXPECT_FALSE(granted(minute, minute)->may_go_on());
}

TEST_F(lease_test, a_renewal_lets_it_go_on) {
  const auto held = granted(minute, minute);
  EXPECT_FALSE(held->may_go_on());
  EXPECT_TRUE(*run(io, held->dispatch()));
  EXPECT_TRUE(held->may_go_on());
}

TEST_F(lease_test, its_renewals_are_counted_and_its_dispatch_is_none) {
  const auto held = granted(minute, milliseconds(0));
  EXPECT_TRUE(*run(io, held->dispatch()));
  EXPECT_EQ(held->renewals(), 0);
  EXPECT_TRUE(*run(io, held->renew_now()));
  EXPECT_TRUE(*run(io, held->renew_now()));
  EXPECT_EQ(held->renewals(), 2);
  store.fail(store_call::extend, store_fault::before, 1);
  EXPECT_FALSE(run(io, held->renew_now()));
  EXPECT_EQ(held->renewals(), 2);
}

TEST_F(lease_test, once_superseded_nothing_goes_on) {
  const auto held = granted(minute, milliseconds(0));
  resolution freed;
  freed.id = op().id;
  freed.force = true;
  ASSERT_TRUE(run(io, inner.resolve(freed, milliseconds(100))));
  EXPECT_TRUE(held->may_go_on());
  EXPECT_FALSE(*run(io, held->dispatch()));
  EXPECT_FALSE(held->may_go_on());
  EXPECT_FALSE(held->begin_sending());
}

TEST_F(lease_test, once_given_up_nothing_goes_on) {
  const auto held = granted(minute, milliseconds(0));
  ASSERT_TRUE(held->begin_sending());
  EXPECT_FALSE(held->give_up()) << "something was sent";
  EXPECT_FALSE(held->may_go_on());
}

TEST_F(lease_test, a_renewal_that_nobody_answered_counts_for_nothing) {
  const auto held = granted(minute, minute);
  store.fail(store_call::extend, store_fault::after_timeout);
  EXPECT_FALSE(run(io, held->dispatch()));
  EXPECT_FALSE(held->may_go_on());
}

TEST_F(lease_test, a_renewal_that_failed_is_made_again_long_before_the_next_one_is_due) {
  bool lost = true;
  for (int attempt = 0; lost && attempt < 5; ++attempt) {  // a busy machine may be late once
    const auto held = granted(milliseconds(3'000), milliseconds(0), "k" + std::to_string(attempt));
    const auto made = store.made(store_call::extend);
    store.fail(store_call::extend, store_fault::before, 3);
    held->keep_renewing();
    lost = false;
    until([&] {
      lost = lost || !held->may_go_on();
      return store.made(store_call::extend) == made + 4;
    });
    held->stop_renewing();
  }
  EXPECT_FALSE(lost) << "it ran out between two tries";
}

TEST_F(lease_test, a_renewal_counts_from_when_it_was_sent) {
  constexpr milliseconds length{100};
  const auto held = granted(length, milliseconds(0));
  store.fail(store_call::extend, store_fault::delay_after, 1);
  std::optional<bool> renewed;
  const auto sent = base::boot_now();
  asio::co_spawn(io, held->dispatch(),
                 [&](std::exception_ptr, result<bool> reply) { renewed = reply && *reply; });
  until([&] { return store.waiting() == 1 && base::boot_now() >= sent + length; });
  store.let_go();
  until([&] { return renewed.has_value(); });
  EXPECT_TRUE(*renewed);
  EXPECT_FALSE(held->may_go_on()) << "what the store granted then is over";
}

TEST_F(lease_test, a_lease_counts_from_when_its_claim_was_sent) {
  policy.lease = milliseconds(100);
  store.fail(store_call::claim, store_fault::delay_after, 1);
  counted_work w;
  const auto sent = base::boot_now();
  begin_soon(w);
  until([&] { return store.waiting() == 1 && base::boot_now() >= sent + policy.lease; });
  store.let_go();
  until([&] { return w.runs == 1; });
  EXPECT_FALSE(w.may_send) << "what the store granted then is over";
  let_go();
}

TEST_F(lease_test, a_renewal_that_is_on_its_way_revives_nothing_that_was_abandoned) {
  policy.lease = milliseconds(30);
  counted_work w;
  w.ends = settle_kind::abandon;
  store.fail(store_call::extend, store_fault::delay_before, 1);
  begin(w);
  until([&] { return store.waiting() == 1; });
  let_go();
  EXPECT_EQ(state(), observed_state::unknown);
  store.let_go();
  io.restart();
  io.poll();
  EXPECT_EQ(state(), observed_state::unknown);
}

TEST_F(lease_test, a_lease_that_is_given_up_is_not_renewed_meanwhile) {
  for (const auto ends : {settle_kind::abandon, settle_kind::release}) {
    policy.lease = milliseconds(30);
    counted_work w;
    w.ends = ends;
    store.fail(store_call::settle, store_fault::delay_before, 1);
    first_.reset();
    begin(w);
    gate.cancel();
    until([&] { return store.waiting() == 1; });
    const auto renewals = store.made(store_call::extend);
    io.restart();
    io.run_for(std::chrono::milliseconds(100));
    EXPECT_EQ(store.made(store_call::extend), renewals);
    store.let_go();
    until([&] { return first_.has_value(); });
    resolution freed;
    freed.id = op().id;
    freed.force = true;
    EXPECT_TRUE(run(io, inner.resolve(freed, milliseconds(100))));
  }
}

TEST_F(lease_test, a_renewal_that_ends_meanwhile_is_the_last) {
  policy.lease = milliseconds(30);
  params.settle_wait = minute;
  make();
  counted_work w;
  w.ends = settle_kind::abandon;
  store.fail(store_call::extend, store_fault::delay_before, 1);
  store.fail(store_call::settle, store_fault::before);
  begin(w);
  until([&] { return store.waiting() == 1; });
  gate.cancel();
  until([&] { return store.made(store_call::settle) > 0; });
  store.let_go();
  io.restart();
  io.run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(store.made(store_call::extend), 1u);
  store.heal_all();
  until([&] { return first_.has_value(); });
  EXPECT_EQ(state(), observed_state::unknown);
}

TEST_F(lease_test, what_was_done_is_kept_from_others_while_the_store_is_reported) {
  policy.lease = milliseconds(90);
  counted_work w;
  store.fail(store_call::settle, store_fault::delay_before, 1);
  begin(w);
  gate.cancel();
  until([&] { return store.waiting() == 1; });
  const auto renewals = store.made(store_call::extend);
  until([&] { return store.made(store_call::extend) >= renewals + 2; });
  store.let_go();
  until([&] { return first_.has_value(); });
  EXPECT_EQ(state(), observed_state::completed);
}

TEST_F(lease_test, a_lease_given_up_at_shutdown_is_not_renewed_by_its_work) {
  policy.lease = milliseconds(30);
  counted_work w;
  w.sends_late = true;
  begin(w);
  end_held_leases();
  const auto renewals = store.made(store_call::extend);
  io.restart();
  io.run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(store.made(store_call::extend), renewals);
}

}  // namespace
}  // namespace onceguard
