// Backups of a SQLite store, and stores that were restored from them.
#include "store/sqlite/backup.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::connection;
using sqlite::sqlite_params;
using sqlite::sqlite_store;

class sqlite_backup_test : public ::testing::Test {
 protected:
  [[nodiscard]] sqlite_params params() const {
    sqlite_params out;
    out.path = folder_.file("store.db");
    out.clock = &clock_;
    return out;
  }
  void open() {
    auto opened = sqlite_store::open(params());
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = std::move(*opened);
    caller_.emplace(*store_);
  }
  void close() {
    caller_.reset();
    store_->stop();
    store_.reset();
  }
  result<std::string> restore() { return sqlite::restore(params(), backup_); }

  temporary_folder folder_;
  base::manual_clock clock_;
  const std::string backup_ = folder_.file("backup.db");
  std::unique_ptr<sqlite_store> store_;
  std::optional<blocking_store> caller_;
};

TEST_F(sqlite_backup_test, a_backup_with_pages_of_another_size_is_not_put_in_place) {
  open();
  ASSERT_TRUE(sqlite::back_up(params(), backup_));
  close();
  connection(backup_, nullptr).run("PRAGMA page_size = 8192; VACUUM");
  const auto refused = restore();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("has pages of 8192 bytes"), std::string::npos);
  EXPECT_FALSE(sqlite::check_copy(backup_));
  connection(backup_, nullptr).run("PRAGMA page_size = 4096; VACUUM");
  EXPECT_TRUE(restore());
}

TEST_F(sqlite_backup_test, tokens_after_a_restore_are_later_though_the_clock_was_set_back) {
  open();
  caller_->completed(claim_of("kept"));
  const auto identity = caller_->vitals().identity;
  ASSERT_TRUE(sqlite::back_up(params(), backup_));
  for (int i = 0; i < 10; ++i) caller_->leased(claim_of("lost before " + std::to_string(i)));
  const auto last = caller_->leased(claim_of("lost"));
  close();
  clock_.advance(second);
  ASSERT_TRUE(restore());
  clock_.step_wall(-day);
  open();
  EXPECT_NE(caller_->vitals().identity, identity);
  EXPECT_EQ(caller_->claim(claim_of("kept")).kind, verdict_kind::replay);
  EXPECT_GT(caller_->leased(claim_of("lost")).token, last.token);
}

TEST_F(sqlite_backup_test, a_restore_keeps_the_rights_and_the_owner_of_the_file) {
  open();
  caller_->completed(claim_of("kept"));
  ASSERT_TRUE(sqlite::back_up(params(), backup_));
  close();
  const auto file = params().path;
  const bool privileged = ::geteuid() == 0;
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  if (privileged) {
    ASSERT_EQ(::chown(file.c_str(), 4321, 1234), 0);
  }
  ASSERT_TRUE(restore());
  struct stat about {};
  ASSERT_EQ(::stat(file.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0640u);
  if (privileged) {
    EXPECT_EQ(about.st_uid, 4321u);
    EXPECT_EQ(about.st_gid, 1234u);
  }
}

TEST_F(sqlite_backup_test, a_file_that_another_program_has_open_is_not_replaced) {
  open();
  caller_->completed(claim_of("k"));
  ASSERT_TRUE(sqlite::back_up(params(), backup_));
  caller_->completed(claim_of("later"));
  close();
  {
    connection shell(params().path, nullptr);  // it knows nothing of our lock file
    EXPECT_EQ(shell.integer("SELECT count(*) FROM records"), 2);
    const auto refused = restore();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::conflict) << refused.error().detail;
  }
  open();
  EXPECT_EQ(caller_->claim(claim_of("later")).kind, verdict_kind::replay);
}

}  // namespace
}  // namespace onceguard::testing
