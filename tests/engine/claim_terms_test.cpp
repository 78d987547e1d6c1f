// What a claim asks of the store is what the route says.
#include "engine/engine_fixture.hpp"

namespace onceguard {
namespace {

/// Keeps the latest claim; all else is the wrapped store's.
class noting_store final : public store {
 public:
  explicit noting_store(store& inner) : inner_(inner) {}
  onceguard::claim latest;

  [[nodiscard]] store_traits traits() const override { return inner_.traits(); }
  asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                      milliseconds timeout) override {
    latest = batch.at(0);
    return inner_.claim(std::move(batch), timeout);
  }
  asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                       milliseconds timeout) override {
    return inner_.settle(std::move(batch), timeout);
  }
  asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                    milliseconds timeout) override {
    return inner_.extend(std::move(batch), timeout);
  }
  asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                    milliseconds timeout) override {
    return inner_.resolve(std::move(request), timeout);
  }
  asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                           milliseconds timeout) override {
    return inner_.find(id, timeout);
  }
  asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor, std::size_t limit,
                                          milliseconds timeout) override {
    return inner_.list(std::move(filter), std::move(cursor), limit, timeout);
  }
  asio::awaitable<result<counts>> count(std::string cursor, milliseconds timeout) override {
    return inner_.count(std::move(cursor), timeout);
  }
  asio::awaitable<result<std::size_t>> sweep(std::size_t limit, milliseconds timeout) override {
    return inner_.sweep(limit, timeout);
  }
  asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override {
    return inner_.vitals(timeout);
  }
  void stop() override { inner_.stop(); }

 private:
  store& inner_;
};

class claim_terms : public engine_over_faults {
 protected:
  noting_store noting{store};

  void SetUp() override {
    engine_over_faults::SetUp();
    tested = std::make_unique<engine>(noting, params, budget);
    EXPECT_TRUE(run(io, tested->poll_store()));
  }
  claim claimed() {
    counted_work w;
    execute(w);
    return noting.latest;
  }
  /// The outcome becomes unknown.
  void lose() {
    counted_work lost;
    lost.ends = settle_kind::abandon;
    execute(lost);
  }
};

TEST_F(claim_terms, are_those_of_the_route) {
  policy.lease = milliseconds(11'000);
  policy.retention = std::chrono::hours(2);
  policy.unknown_retention = std::chrono::hours(3);
  policy.unknown = unknown_policy::probe;
  const auto request = claimed();
  EXPECT_EQ(request.lease, policy.lease);
  EXPECT_EQ(request.retention, policy.retention)
      << "for an application that completes and names none";
  EXPECT_EQ(request.unknown_retention, policy.unknown_retention);
  EXPECT_EQ(request.unknown, unknown_policy::probe);
  EXPECT_EQ(request.probe_after, milliseconds(0)) << "a probe that fences need not wait";
}

TEST_F(claim_terms, let_an_effect_that_is_transactional_run_again_at_unknown) {
  policy.effect = effect_rule::transactional;
  lose();
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::ran) << "the attempt before can't commit any more";
  EXPECT_EQ(w.runs, 1);
}

TEST_F(claim_terms, let_nobody_ask_without_a_fence_while_the_first_attempt_may_be_on_its_way) {
  policy.unknown = unknown_policy::probe;
  policy.probe_mode = probe_rule::ask;
  policy.upstream_timeout = milliseconds(60'000);
  lose();
  counted_work w;
  w.says = effect_status::not_done;
  clock.advance(milliseconds(59'999));
  const auto early = execute(w);
  EXPECT_EQ(early.kind, outcome_kind::unknown);
  EXPECT_EQ(early.retry_after, milliseconds(1));
  EXPECT_EQ(w.questions, 0);
  clock.advance(milliseconds(1));
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_EQ(w.questions, 1);
}

}  // namespace
}  // namespace onceguard
