// Reconciling: fence, ask, settle, for each record that is unknown.
#include "reconcile/reconcile.hpp"

#include <map>

#include "engine/engine_fixture.hpp"

namespace onceguard {
namespace {

/// An application that remembers what it was asked.
class reported_source final : public outcome_source {
 public:
  std::map<std::string, effect_status> says;
  std::map<std::string, int> questions;
  std::map<std::string, token> tokens;
  bool previews = true;
  asio::steady_timer* gate = nullptr;

  [[nodiscard]] std::string_view name() const noexcept override { return "query"; }
  asio::awaitable<effect_report> ask(const subject& about, const held_lease& held) override {
    ++questions[about.key];
    tokens[about.key] = held.lease().token;
    if (gate != nullptr) {
      boost::system::error_code opened;
      co_await gate->async_wait(asio::redirect_error(asio::use_awaitable, opened));
    }
    co_return report(about);
  }
  asio::awaitable<std::optional<effect_report>> preview(const subject& about, token) override {
    if (!previews) co_return std::nullopt;
    co_return report(about);
  }

 private:
  effect_report report(const subject& about) {
    effect_report out;
    const auto found = says.find(about.key);
    out.status = found == says.end() ? effect_status::unknown : found->second;
    if (out.status == effect_status::unknown) out.why = "no idea";
    if (out.status == effect_status::done) {
      auto a = std::make_shared<answer>();
      a->status = 201;
      a->body = "of " + about.key;
      out.answer = std::move(a);
    }
    return out;
  }
};

class reconcile_test : public engine_over_faults {
 protected:
  reported_source source;
  inquiry choice;
  reconcile_params params;
  std::vector<finding> found;

  void SetUp() override {
    engine_over_faults::SetUp();
    choice.source = &source;
  }
  static claim claim_of(const operation& operation) {
    claim out;
    out.id = operation.id;
    base::random_bytes(out.claim_id);
    out.about = operation.about;
    return out;
  }
  verdict claimed(const claim& request) {
    std::vector<claim> batch(1, request);
    return *run(io, inner.claim(batch, milliseconds(100)))[0];
  }
  settled settle(const claim& request, const lease& held, settle_kind kind,
                 unknown_reason why = unknown_reason::none) {
    settlement out;
    out.id = request.id;
    out.token = held.token;
    out.claim_id = held.claim_id;
    out.about = request.about;
    out.kind = kind;
    out.why = why;
    std::vector<settlement> batch(1, out);
    return *run(io, inner.settle(batch, milliseconds(100)))[0];
  }
  /// A record whose outcome is unknown, as its holder was when it became so.
  std::pair<claim, lease> unknown(const std::string& key,
                                  unknown_reason why = unknown_reason::upstream_broken) {
    auto request = op(key);
    auto about = std::make_shared<subject>(*request.about);
    about->run_timeout = milliseconds(60'000);
    request.about = std::move(about);
    const auto question = claim_of(request);
    const auto held = claimed(question).lease;
    settle(question, held, settle_kind::abandon, why);
    return {question, held};
  }
  result<reconcile_counts> reconciled() {
    auto choose = [this](const subject&) { return choice; };
    auto keep = [this](const finding& one) { found.push_back(one); };
    return run(io, reconcile(io, store, params, choose, keep));
  }
  record_view find_record(const std::string& key) {
    return **run(io, inner.find(op(key).id, milliseconds(100)));
  }
};

TEST_F(reconcile_test, each_is_settled_by_what_the_application_says) {
  unknown("did");
  unknown("did-not");
  unknown("no-idea");
  source.says = {{"did", effect_status::done}, {"did-not", effect_status::not_done}};
  const auto counts = reconciled();
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->done, 1u);
  EXPECT_EQ(counts->not_done, 1u);
  EXPECT_EQ(counts->still_unknown, 1u);
  const auto done = find_record("did");
  EXPECT_EQ(done.state, observed_state::completed);
  EXPECT_EQ(done.stored.answer->body, "of did");
  EXPECT_EQ(find_record("did-not").state, observed_state::released);
  EXPECT_EQ(find_record("no-idea").state, observed_state::unknown);
  EXPECT_EQ(find_record("no-idea").stored.why, unknown_reason::upstream_broken);
  for (const auto& one : found) {
    EXPECT_EQ(one.means, "query");
    EXPECT_EQ(one.fenced_with, source.tokens[one.seen.stored.about->key]);
  }
}

TEST_F(reconcile_test, what_was_released_may_run) {
  unknown("k");
  source.says = {{"k", effect_status::not_done}};
  ASSERT_TRUE(reconciled());
  counted_work w;
  EXPECT_EQ(execute(w).kind, outcome_kind::ran);
  EXPECT_EQ(w.runs, 1);
}

TEST_F(reconcile_test, attempts_are_fenced_before_the_application_is_asked) {
  const auto [first, held] = unknown("k");
  source.gate = &gate;
  source.says = {{"k", effect_status::not_done}};
  std::optional<result<reconcile_counts>> ended;
  auto choose = [this](const subject&) { return choice; };
  asio::co_spawn(io, reconcile(io, store, params, choose, [](const finding&) {}),
                 [&](std::exception_ptr, result<reconcile_counts> got) { ended = std::move(got); });
  until([&] { return source.questions["k"] == 1; });
  EXPECT_GT(source.tokens["k"], held.token);
  EXPECT_EQ(find_record("k").state, observed_state::probing);
  // The first attempt comes to its end after all: too late.
  EXPECT_EQ(settle(first, held, settle_kind::complete).outcome, settle_outcome::stale);
  gate.cancel();
  until([&] { return ended.has_value(); });
  EXPECT_EQ(find_record("k").state, observed_state::released);
}

TEST_F(reconcile_test, a_query_waits_for_the_upstreams_timeout) {
  unknown("k");
  choice.quiet = milliseconds(60'000);
  source.says = {{"k", effect_status::not_done}};
  clock.advance(milliseconds(59'999));
  ASSERT_TRUE(reconciled());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, finding_kind::too_early);
  EXPECT_EQ(found[0].retry_after, milliseconds(1));
  EXPECT_EQ(source.questions["k"], 0);
  clock.advance(milliseconds(1));
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found[1].kind, finding_kind::not_done);
}

TEST_F(reconcile_test, after_an_answer_there_is_nothing_to_wait_for) {
  unknown("k", unknown_reason::upstream_status);
  choice.quiet = milliseconds(60'000);
  source.says = {{"k", effect_status::done}};
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found[0].kind, finding_kind::done);
}

TEST_F(reconcile_test, a_dry_run_changes_nothing) {
  const auto [questions, held] = unknown("k");
  source.says = {{"k", effect_status::not_done}};
  params.dry_run = true;
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found[0].kind, finding_kind::not_done);
  EXPECT_TRUE(found[0].preview);
  source.previews = false;
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found[1].kind, finding_kind::still_unknown);
  EXPECT_EQ(found[1].why, "would be asked");
  const auto seen = find_record("k");
  EXPECT_EQ(seen.stored.token, held.token);
  EXPECT_EQ(seen.stored.attempt, 1u);
  EXPECT_EQ(seen.state, observed_state::unknown);
  EXPECT_TRUE(source.questions.empty());
}

TEST_F(reconcile_test, two_rounds_at_once_ask_about_each_operation_once) {
  constexpr std::size_t records = 100;  // more than a page
  for (std::size_t i = 0; i < records; ++i) {
    const auto key = "k" + std::to_string(i);
    unknown(key);
    source.says[key] = i % 2 == 0 ? effect_status::done : effect_status::not_done;
  }
  std::vector<result<reconcile_counts>> ended;
  auto choose = [this](const subject&) { return choice; };
  for (int i = 0; i < 2; ++i) {
    asio::co_spawn(
        io, reconcile(io, store, params, choose, [](const finding&) {}),
        [&](std::exception_ptr, result<reconcile_counts> got) { ended.push_back(std::move(got)); });
  }
  until([&] { return ended.size() == 2; });
  EXPECT_EQ(source.questions.size(), records);
  for (const auto& [key, times] : source.questions) EXPECT_EQ(times, 1) << key;
  EXPECT_EQ(ended[0]->done + ended[1]->done, records / 2);
  EXPECT_EQ(ended[0]->not_done + ended[1]->not_done, records / 2);
  for (std::size_t i = 0; i < records; ++i) {
    EXPECT_EQ(find_record("k" + std::to_string(i)).state,
              i % 2 == 0 ? observed_state::completed : observed_state::released);
  }
}

TEST_F(reconcile_test, what_became_free_meanwhile_is_given_back) {
  unknown("k");
  const auto id = op("k").id;
  // Between the list and the claim an operator releases it.
  store.fail(store_call::claim, store_fault::delay_before, 1);
  std::optional<result<reconcile_counts>> ended;
  auto choose = [this](const subject&) { return choice; };
  auto keep = [this](const finding& one) { found.push_back(one); };
  asio::co_spawn(io, reconcile(io, store, params, choose, keep),
                 [&](std::exception_ptr, result<reconcile_counts> got) { ended = std::move(got); });
  until([&] { return store.waiting() == 1; });
  resolution free;
  free.id = id;
  free.force = true;
  EXPECT_TRUE(run(io, inner.resolve(free, milliseconds(100))));
  store.let_go();
  until([&] { return ended.has_value(); });
  EXPECT_EQ(found[0].kind, finding_kind::left_alone);
  EXPECT_TRUE(source.questions.empty());
  EXPECT_EQ(find_record("k").state, observed_state::released);
}

TEST_F(reconcile_test, a_round_without_a_source_says_so) {
  unknown("k");
  choice.source = nullptr;
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found[0].kind, finding_kind::still_unknown);
  EXPECT_TRUE(found[0].means.empty());
  EXPECT_EQ(find_record("k").stored.attempt, 1u);
}

TEST_F(reconcile_test, the_limit_holds) {
  for (int i = 0; i < 5; ++i) unknown("k" + std::to_string(i));
  params.limit = 3;
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(found.size(), 3u);
}

TEST_F(reconcile_test, what_the_store_could_not_be_reported_is_given_back) {
  unknown("k");
  source.says = {{"k", effect_status::not_done}};
  store.fail(store_call::extend, store_fault::before, 1);
  EXPECT_FALSE(reconciled());
  EXPECT_EQ(find_record("k").state, observed_state::unknown) << "and not asked about any more";
  ASSERT_TRUE(reconciled());
  EXPECT_EQ(find_record("k").state, observed_state::released);
}

TEST_F(reconcile_test, a_store_out_of_reach_ends_it) {
  unknown("k");
  store.fail(store_call::claim, store_fault::before);
  const auto counts = reconciled();
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, errc::store_unreachable);
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace onceguard
