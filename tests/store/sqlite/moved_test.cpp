// What counts as moved from the write-ahead log into the file, on a disk whose failed flushes lose
// their bytes for ever: a log restarts once all of it counts.
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/wal_index.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::connection;
using sqlite::session;
using sqlite::session_use;
using sqlite::sqlite_params;

class sqlite_moved_test : public ::testing::Test {
 protected:
  sqlite_moved_test() {
    params_.path = folder_.file("store.db");
    params_.clock = &clock_;
    params_.vfs = fault_vfs::name;
  }
  [[nodiscard]] std::unique_ptr<session> open(session_use use) const {
    auto opened = session::open(params_, use);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  /// The session that writes, with a table of its own. Each row fills a page.
  void begin() {
    writer_ = open(session_use::write);
    change("CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
  }
  void change(const char* sql) {
    ASSERT_TRUE(writer_->try_begin());
    writer_->on().run(sql);
    writer_->commit();
  }
  void add(int count) {
    for (int i = 0; i < count; ++i) change("INSERT INTO rows (bytes) VALUES (randomblob(3000))");
    rows_ += count;
  }
  /// Of what is added now, a checkpoint can copy the first `count` rows alone.
  [[nodiscard]] connection reader_behind(int count) {
    add(count);
    connection out(params_.path, nullptr);
    out.run("BEGIN");
    EXPECT_EQ(out.integer("SELECT count(*) FROM rows"), rows_);
    add(1);
    return out;
  }
  [[nodiscard]] std::uint32_t counted() { return sqlite::moved_frames(writer_->on()); }
  [[nodiscard]] sqlite::log_position position() { return *sqlite::position_of(writer_->on()); }
  /// The former frames are not needed any more, and are written over.
  void restart_log() {
    ASSERT_TRUE(sqlite::all_moved(writer_->on()));
    const auto former = position();
    add(1);
    ASSERT_LT(position().frames, former.frames);
  }
  void expect_all_after_power_cut() {
    const auto cut = folder_.file("cut.db");
    std::ofstream(cut, std::ios::binary) << faults_.file_disk.bytes();
    std::ofstream(cut + "-wal", std::ios::binary) << faults_.log_disk.bytes();
    connection left(cut, nullptr);
    EXPECT_EQ(left.text("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(left.integer("SELECT count(*) FROM rows"), rows_);
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  fault_vfs faults_;
  sqlite_params params_;
  std::unique_ptr<session> writer_;
  int rows_ = 0;
};

TEST_F(sqlite_moved_test, a_power_cut_takes_nothing_that_was_moved) {
  begin();
  add(20);
  writer_->wal().checkpoint();
  restart_log();
  expect_all_after_power_cut();
}

TEST_F(sqlite_moved_test, what_a_failed_flush_of_a_part_lost_is_copied_again) {
  begin();
  for (const bool by_writer : {false, true}) {
    const auto mover = open(session_use::read);
    {
      const auto reader = reader_behind(20);
      const int flushes = faults_.file.count();
      faults_.file.set(flush_fault::fail);
      mover->wal().checkpoint();
      faults_.file.set(flush_fault::none);
      EXPECT_GT(faults_.file.count(), flushes);
    }
    (by_writer ? writer_ : mover)->wal().checkpoint();
    restart_log();
    expect_all_after_power_cut();
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(folder_.file("cut.db") + suffix);
    }
  }
}

/// The other process ends at once, and says nothing.
TEST_F(sqlite_moved_test, what_a_killed_process_copied_and_never_flushed_is_copied_again) {
  std::array<int, 2> starts{};
  ASSERT_EQ(::pipe(starts.data()), 0);
  const pid_t other = ::fork();  // while this process has no file of SQLite's open
  ASSERT_GE(other, 0);
  if (other == 0) {
    char one = 0;
    ::close(starts[1]);
    if (::read(starts[0], &one, 1) != 1) ::_exit(1);
    try {
      const auto mover = open(session_use::read);
      faults_.file.set(flush_fault::fail);
      mover->wal().checkpoint();
    } catch (...) {
      ::_exit(3);
    }
    ::_exit(faults_.file_disk.writes() > 10 && faults_.file.count() > 0 ? 0 : 2);
  }
  begin();
  {
    const auto reader = reader_behind(20);
    ASSERT_EQ(::write(starts[1], "x", 1), 1);
    int status = 0;
    ASSERT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
  }
  for (const int end : starts) ::close(end);
  writer_->wal().checkpoint();
  restart_log();
  expect_all_after_power_cut();
}

TEST_F(sqlite_moved_test, what_was_flushed_is_not_copied_again) {
  begin();
  const auto mover = open(session_use::read);
  {
    const auto reader = reader_behind(50);
    mover->wal().checkpoint();
    EXPECT_GT(counted(), 50u);
    EXPECT_LT(counted(), position().frames);
  }
  const int before = faults_.file_disk.writes();
  writer_->wal().checkpoint();
  EXPECT_LT(faults_.file_disk.writes() - before, 10);
  restart_log();
  expect_all_after_power_cut();
}

TEST_F(sqlite_moved_test, readers_see_the_same_whatever_counts) {
  begin();
  const auto reader = reader_behind(20);
  writer_->wal().checkpoint();
  const auto flushed = counted();
  ASSERT_GT(flushed, 0u);
  for (const auto& [before, after] : {std::pair{flushed, 0u}, std::pair{0u, flushed}}) {
    sqlite::count_as_moved(writer_->on(), position(), before, after);
    EXPECT_EQ(counted(), after);
    connection other(params_.path, nullptr);
    EXPECT_EQ(other.integer("SELECT count(*) FROM rows"), rows_);
    EXPECT_EQ(other.text("PRAGMA integrity_check"), "ok");
  }
}

TEST_F(sqlite_moved_test, a_count_of_another_log_or_of_another_checkpoint_stands) {
  begin();
  const auto reader = reader_behind(20);
  writer_->wal().checkpoint();
  const auto flushed = counted();
  auto other = position();
  other.salts[0] ^= 1;
  sqlite::count_as_moved(writer_->on(), other, flushed, 0);
  EXPECT_EQ(counted(), flushed);
  sqlite::count_as_moved(writer_->on(), position(), flushed - 1, 0);
  EXPECT_EQ(counted(), flushed);
}

/// Frames behind those of another checkpoint, which was flushed too.
TEST_F(sqlite_moved_test, what_was_flushed_counts_beside_what_another_checkpoint_flushed) {
  begin();
  const auto reader = reader_behind(20);
  writer_->wal().checkpoint();
  const auto flushed = counted();
  sqlite::count_as_moved(writer_->on(), position(), flushed, flushed - 10);
  sqlite::count_as_moved(writer_->on(), position(), 0, flushed - 5);
  EXPECT_EQ(counted(), flushed - 5);
  sqlite::count_as_moved(writer_->on(), position(), 0, flushed - 8);
  EXPECT_EQ(counted(), flushed - 5) << "less than counts already";
}

/// Whoever opens the store has it for a moment.
TEST_F(sqlite_moved_test, what_was_flushed_counts_once_the_turn_is_free) {
  begin();
  const auto mover = open(session_use::read);
  const auto reader = reader_behind(20);
  faults_.file.set(flush_fault::hang);
  std::thread moving([&] { mover->wal().checkpoint(std::chrono::minutes(1)); });
  faults_.file.wait_for_hang();
  sqlite::lock_file other(params_.path);
  std::optional<sqlite::checkpoint_turn> turn(std::in_place, other);
  EXPECT_TRUE(turn->has_turn());
  faults_.file.set(flush_fault::none);
  // Nobody says that somebody waits: who does not would be through by then.
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(counted(), 0u);
  turn.reset();
  moving.join();
  EXPECT_GT(counted(), 0u);
}

/// A writer that restarts it may have begun already.
TEST_F(sqlite_moved_test, the_count_of_a_log_that_may_restart_stands) {
  begin();
  add(5);
  writer_->wal().checkpoint();
  ASSERT_TRUE(sqlite::all_moved(writer_->on()));
  sqlite::count_as_moved(writer_->on(), position(), counted(), 0);
  EXPECT_TRUE(sqlite::all_moved(writer_->on()));
}

}  // namespace
}  // namespace onceguard::testing
