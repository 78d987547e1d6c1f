// Acts of the admin API on records that change between the look and the act.
#include "admin/resolve_api.hpp"

#include <functional>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/hex.hpp"
#include "store/contract/acts.hpp"
#include "store/memory/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/run.hpp"

namespace onceguard::testing {
namespace {

using nlohmann::json;

/// Writes nothing. The line before a change is the moment between the look and the act.
class moment final : public audit_log {
 public:
  std::function<void()> meanwhile;

 private:
  result<void> write(const audit_author&, const audited_change&, const std::string&) override {
    if (const auto act = std::exchange(meanwhile, nullptr)) act();
    return {};
  }
};

class resolve_api_test : public ::testing::Test {
 protected:
  void SetUp() override { leave_unknown(); }
  /// The operation runs, and its outcome is unknown then.
  token leave_unknown(const std::string& key = "order-1") {
    held_ = caller_.leased(claim_of(key));
    clock_.advance(lease_length + claim_of(key).about->run_timeout);
    return held_.token;
  }
  /// The holder of the last lease works on, and its outcome is unknown again.
  void come_back() {
    const auto wanted = claim_of("order-1");
    EXPECT_TRUE(caller_.extend(extend_of(wanted, held_)));
    clock_.advance(lease_length + wanted.about->run_timeout);
  }
  void end_otherwise(bool completed) {
    resolution change;
    change.id = id_;
    change.completed = completed;
    if (completed) change.answer = answer_of("paid");
    EXPECT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  }
  std::pair<int, json> post(const std::string& path, json body) {
    admin::resolve_params params;
    params.audit = [this] { return &audit_; };
    params.retention = [](const std::string&) { return day; };
    const auto acts = admin::resolve_resources(faults_, params);
    body["reason"] = "a test";
    body["dry_run"] = false;
    body["wait"] = false;
    admin::request sent;
    sent.method = "POST";
    EXPECT_TRUE(admin::read_target("/api/records/" + path, sent));
    sent.body = body.dump();
    const auto found = admin::find_resource(acts, sent);
    const auto answer = run(found.found->handle(sent));
    return {answer.status, json::parse(answer.body)};
  }
  /// What became of the one record that the filter chose.
  std::string selected(const std::string& act) {
    const auto [status, body] = post(act, {{"filter", {{"state", "unknown"}}}});
    EXPECT_EQ(status, 200) << body;
    EXPECT_EQ(body["records"].size(), 1u) << body;
    return body["records"].at(0)["outcome"];
  }

  base::manual_clock clock_;
  memory_store records_{clock_};
  faulty_store faults_{records_};
  blocking_store caller_{records_};
  moment audit_;
  lease held_;
  const record_id id_ = claim_of("order-1").id;
};

TEST_F(resolve_api_test, a_selection_forgets_nothing_that_was_completed_meanwhile) {
  for (const auto* act : {"release", "delete"}) {
    audit_.meanwhile = [this] { end_otherwise(true); };
    EXPECT_EQ(selected(act), "already_completed") << act;
    EXPECT_EQ(caller_.claim(claim_of("order-1")).kind, verdict_kind::replay) << act;
    EXPECT_EQ(post("delete", {{"filter", {{"state", "completed"}}}}).second["changed"], 1) << act;
    leave_unknown();
  }
}

TEST_F(resolve_api_test, a_selection_leaves_a_later_attempt_alone) {
  for (const auto* act : {"release", "complete", "delete"}) {
    token later = 0;
    audit_.meanwhile = [&] {
      end_otherwise(false);
      later = leave_unknown();
    };
    EXPECT_EQ(selected(act), "changed") << act;
    const auto seen = caller_.seen(id_);
    EXPECT_EQ(seen.state, observed_state::unknown) << act;
    EXPECT_EQ(seen.stored.token, later) << act;
  }
}

TEST_F(resolve_api_test, a_selection_leaves_an_attempt_alone_whose_holder_came_back) {
  for (const auto* act : {"release", "complete", "delete"}) {
    audit_.meanwhile = [this] { come_back(); };
    EXPECT_EQ(selected(act), "changed") << act;
    EXPECT_EQ(caller_.seen(id_).state, observed_state::unknown) << act;
    EXPECT_EQ(caller_.seen(id_).stored.token, held_.token) << act;
  }
}

TEST_F(resolve_api_test, an_act_with_a_revision_is_for_the_lease_as_it_was_read) {
  const auto seen = caller_.seen(id_);
  come_back();
  const auto path = base::to_hex(id_) + "/release";
  const auto [status, body] =
      post(path, {{"token", held_.token}, {"revision", *seen.revision}, {"force", true}});
  EXPECT_EQ(status, 409) << body;
  EXPECT_EQ(body["outcome"], "changed");
  EXPECT_EQ(post(path, {{"revision", "1"}}).first, 422);
  const auto now = caller_.seen(id_);
  EXPECT_EQ(post(path, {{"token", held_.token}, {"revision", *now.revision}}).first, 200);
}

TEST_F(resolve_api_test, a_selection_that_stopped_begins_with_the_same_page_again) {
  leave_unknown("order-2");
  leave_unknown("order-3");
  std::string cursor;
  const auto release_next = [&] {
    auto [status, body] =
        post("release", {{"filter", {{"state", "unknown"}}}, {"limit", 1}, {"cursor", cursor}});
    EXPECT_EQ(status, 200) << body;
    cursor = body["cursor"];
    return body;
  };
  EXPECT_EQ(release_next()["changed"], 1);
  const auto before = cursor;
  ASSERT_NE(before, "");
  faults_.fail(store_call::resolve, store_fault::before);
  const auto stopped = release_next();
  EXPECT_EQ(stopped["changed"], 0);
  EXPECT_EQ(stopped["records"].at(0)["outcome"], "failed");
  EXPECT_NE(stopped["stopped"], "");
  EXPECT_EQ(cursor, before);
  faults_.heal(store_call::resolve);
  int released = 1;
  do released += release_next()["changed"].get<int>();
  while (!cursor.empty());
  EXPECT_EQ(released, 3);
}

TEST_F(resolve_api_test, an_act_with_a_token_is_for_that_lease_alone) {
  const auto former = caller_.seen(id_).stored.token;
  end_otherwise(false);
  const auto later = leave_unknown();
  const auto path = base::to_hex(id_) + "/complete";
  const auto [status, body] = post(path, {{"token", former}, {"force", true}});
  EXPECT_EQ(status, 409) << body;
  EXPECT_EQ(body["outcome"], "changed");
  EXPECT_EQ(caller_.seen(id_).state, observed_state::unknown);
  EXPECT_EQ(post(path, {{"token", "1"}}).first, 422);
  EXPECT_EQ(post(path, {{"token", 0}}).first, 422);
  EXPECT_EQ(post(path, {{"token", later}}).first, 200);
  EXPECT_EQ(caller_.seen(id_).state, observed_state::completed);
}

}  // namespace
}  // namespace onceguard::testing
