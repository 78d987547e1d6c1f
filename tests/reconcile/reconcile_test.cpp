// Reconciling: fence, ask, settle, for each record that is unknown.
#include <fstream>

#include "reconcile/reconcile_fixture.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard {
namespace {

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

TEST_F(reconcile_test, what_applications_claim_for_themselves_is_completed_by_them) {
  const std::map<std::string, std::string> kinds{
      {"a", "application"}, {"b", "application:inbox"}, {"c", "credential"}, {"d", "applications"}};
  for (const auto& [key, kind] : kinds) {
    unknown(key, unknown_reason::holder_gone, kind);
    source.says[key] = effect_status::done;
  }
  ASSERT_TRUE(reconciled());
  for (const auto& [key, kind] : kinds) {
    const auto kept = find_record(key).stored;
    EXPECT_EQ(kept.answer->body, "of " + key);
    EXPECT_EQ(kept.by_application, key == "a" || key == "b") << kind;
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

TEST_F(reconcile_test, each_change_is_written_to_the_audit_log) {
  testing::temporary_folder folder;
  const auto audit = audit_log::open(folder.file("audit.jsonl")).value();
  params.audit = audit.get();
  params.author.name = "alice";
  params.author.means = "reconcile";
  unknown("did");
  unknown("no-idea");
  source.says = {{"did", effect_status::done}};
  ASSERT_TRUE(reconciled());
  std::ifstream input(folder.file("audit.jsonl"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 2u) << "what stays unknown is no change";
  EXPECT_NE(lines[0].find(R"("stage":"intended","action":"complete","who":"alice")"),
            std::string::npos)
      << lines[0];
  EXPECT_NE(lines[1].find(R"("stage":"done")"), std::string::npos) << lines[1];
  for (const auto& line : lines) {
    EXPECT_NE(line.find(R"("key":"did","from":"unknown","to":"completed")"), std::string::npos);
  }
}

TEST_F(reconcile_test, what_can_not_be_written_to_the_audit_log_stays_unknown) {
  const auto audit = audit_log::open("/dev/full").value();
  params.audit = audit.get();
  unknown("k");
  for (const auto status : {effect_status::done, effect_status::not_done}) {
    source.says = {{"k", status}};
    const auto counts = reconciled();
    ASSERT_FALSE(counts);
    EXPECT_NE(counts.error().detail.find("audit log"), std::string::npos);
    EXPECT_EQ(find_record("k").state, observed_state::unknown);
  }
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
