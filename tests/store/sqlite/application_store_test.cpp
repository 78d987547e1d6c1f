// The records among the tables of an application, as an operator's commands change them.
#include "store/sqlite/application_store.hpp"

#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/fault_vfs.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

class application_store_test : public ::testing::Test {
 protected:
  static imported_record unknown_work(const std::string& key) {
    imported_record out;
    const auto request = claim_of(key);
    out.id = request.id;
    out.stored.about = request.about;
    out.stored.state = record_state::in_progress;
    out.stored.token = 7;
    out.stored.claim_id = request.claim_id;
    out.stored.attempt = 1;
    return out;
  }
  std::unique_ptr<store> open() {
    sqlite::sqlite_params params;
    params.path = folder_.file("shop.db");
    sqlite::connection(params.path, nullptr, sqlite::open_as::creator)
        .run("CREATE TABLE charges (who TEXT)");
    params.vfs = fault_vfs::name;
    auto opened = sqlite::open_application_store(params);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }

  temporary_folder folder_;
  fault_vfs faults_;
  const std::unique_ptr<store> store_ = open();
  blocking_store caller_{*store_};
};

TEST_F(application_store_test, what_an_operator_ends_leaves_no_steps_for_the_next_attempt) {
  for (const bool completed : {false, true}) {
    auto work = unknown_work(completed ? "completed" : "released");
    work.recovery = recovery_point{"reserve", "seat 4"};
    ASSERT_EQ(caller_.import_record(work), import_outcome::imported);
    ASSERT_EQ(caller_.seen(work.id).recovery, work.recovery);
    resolution change;
    change.id = work.id;
    change.force = true;
    change.completed = completed;
    ASSERT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
    EXPECT_FALSE(caller_.seen(work.id).recovery);
  }
}

TEST_F(application_store_test, a_change_is_flushed_before_it_is_reported) {
  const auto work = unknown_work("k");
  ASSERT_EQ(caller_.import_record(work), import_outcome::imported);
  const int before = faults_.file.count();
  resolution change;
  change.id = work.id;
  change.force = true;
  ASSERT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  EXPECT_GT(faults_.file.count(), before);
}

}  // namespace
}  // namespace onceguard::testing
