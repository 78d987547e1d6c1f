// The record's answer counts, also while it can't be read: the holder's own is not sent in its
// place.
#include "engine/engine_fixture.hpp"
#include "store/sealed/sealed_answer.hpp"

namespace onceguard {
namespace {

class illegible_answer : public engine_over_faults {
 protected:
  /// As a process with a key ring has left it.
  settlement encrypted(const claim& request, const lease& held) {
    settlement out;
    out.id = request.id;
    out.token = held.token;
    out.claim_id = held.claim_id;
    out.about = request.about;
    out.kind = settle_kind::complete;
    auto kept = std::make_shared<answer>();
    kept->status = 201;
    kept->headers.emplace_back("onceguard sealed", "1 7 k1");
    kept->body = "ciphertext";
    out.answer = std::move(kept);
    EXPECT_TRUE(sealed::is_sealed(*out.answer));
    return out;
  }
};

TEST_F(illegible_answer, a_holder_is_refused_and_nothing_is_tried_again) {
  params.settle_wait = std::chrono::minutes(1);
  make();
  store.fail(store_call::settle, store_fault::illegible);
  counted_work w;
  const auto out = execute(w);
  EXPECT_EQ(out.kind, outcome_kind::store_failed);
  EXPECT_EQ(out.failure.code, errc::record_unreadable);
  EXPECT_EQ(out.failure.effect, effect::done);
  EXPECT_EQ(out.settled_as, settle_kind::complete);
  EXPECT_EQ(store.made(store_call::settle), 1u);
  EXPECT_EQ(tested->pending(), 0u);
  EXPECT_EQ(w.runs, 1);
}

TEST_F(illegible_answer, a_settle_behind_its_request_ends_with_it) {
  store.fail(store_call::settle, store_fault::before, 1);
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::unrecorded);
  store.fail(store_call::settle, store_fault::illegible);
  until([&] { return tested->pending() == 0; });
  EXPECT_EQ(store.made(store_call::settle), 2u);
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(illegible_answer, a_repeat_gets_no_ciphertext) {
  claim request;
  const auto wanted = op();
  request.id = wanted.id;
  request.about = wanted.about;
  const auto held = run(io, inner.claim({request}, milliseconds(100))).at(0).value().lease;
  ASSERT_TRUE(run(io, inner.settle({encrypted(request, held)}, milliseconds(100))).at(0));
  counted_work w;
  for (int again = 0; again < 2; ++again) {
    const auto out = execute(w);
    EXPECT_EQ(out.kind, outcome_kind::store_failed);
    EXPECT_EQ(out.failure.code, errc::record_unreadable);
    EXPECT_TRUE(sealed::lacks_key(out.failure.detail)) << out.failure.detail;
  }
  EXPECT_EQ(w.runs, 0);
}

}  // namespace
}  // namespace onceguard
