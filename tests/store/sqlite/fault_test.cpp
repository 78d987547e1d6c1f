// The SQLite store while the disk is full, fails or hangs.
#include <filesystem>
#include <optional>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/small_disk.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using sqlite::connection;
using sqlite::sqlite_params;
using sqlite::sqlite_store;

class sqlite_fault_test : public ::testing::Test {
 protected:
  [[nodiscard]] static std::unique_ptr<sqlite_store> open(const sqlite_params& sqlite) {
    auto opened = sqlite_store::open(sqlite);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  [[nodiscard]] sqlite_params params(const char* vfs = fault_vfs::name) const {
    sqlite_params out;
    out.path = folder_.file("store.db");
    out.clock = &clock_;
    out.vfs = vfs;
    return out;
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  fault_vfs faults_;
};

TEST_F(sqlite_fault_test, a_claim_whose_flush_hangs_is_in_doubt_and_later_found_granted) {
  const auto store = open(params());
  blocking_store caller(*store);
  faults_.flushes(flush_fault::hang);
  const auto request = claim_of("k");
  // One that was not begun in time, on a busy machine, had no effect and comes again.
  wait_until("a claim in doubt", [&] {
    const auto verdict = caller.try_claim(request, milliseconds(50));
    return !verdict && verdict.error().code == errc::store_unreachable &&
           verdict.error().effect == effect::unknown;
  });
  faults_.wait_for_hang();
  // A claim that waits behind the hanging flush was not begun, and its error says so.
  const auto behind = caller.try_claim(claim_of("behind"), milliseconds(50));
  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().effect, effect::none);
  faults_.flushes(flush_fault::none);
  EXPECT_EQ(caller.leased(request).claim_id, request.claim_id);
  EXPECT_FALSE(caller.find(claim_of("behind").id));
}

TEST_F(sqlite_fault_test, the_callers_event_loop_may_end_while_a_flush_hangs) {
  const auto store = open(params());
  faults_.flushes(flush_fault::hang);
  {
    boost::asio::io_context context;
    const auto nobody = [](std::exception_ptr, const std::vector<result<verdict>>&) {};
    boost::asio::co_spawn(context, store->claim({claim_of("k")}, patience), nobody);
    context.run_one();
    context.run_one();
    faults_.wait_for_hang();
  }
  faults_.flushes(flush_fault::none);
  blocking_store caller(*store);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::busy);
}

TEST_F(sqlite_fault_test, a_claim_whose_flush_failed_is_in_doubt_until_repeated) {
  const auto store = open(params());
  blocking_store caller(*store);
  const auto done = claim_of("done");
  caller.completed(done);
  faults_.flushes(flush_fault::fail);
  const auto request = claim_of("k");
  // The claim wrote, so after the failed flush its effect is unknown.
  const auto reply = caller.claims({request});
  ASSERT_FALSE(reply[0]);
  EXPECT_EQ(reply[0].error().code, errc::store_unreachable);
  EXPECT_EQ(reply[0].error().effect, effect::unknown);
  faults_.flushes(flush_fault::none);
  EXPECT_EQ(caller.leased(request).claim_id, request.claim_id);
  EXPECT_EQ(caller.claim(claim_of("done")).kind, verdict_kind::replay);
}

TEST_F(sqlite_fault_test, after_a_failed_flush_the_file_is_opened_anew) {
  const auto store = open(params());
  blocking_store caller(*store);
  caller.completed(claim_of("done"));
  const int before = faults_.opened();
  faults_.flushes(flush_fault::fail);
  EXPECT_FALSE(caller.try_claim(claim_of("k")));
  faults_.flushes(flush_fault::none);
  caller.completed(claim_of("next"));
  EXPECT_GT(faults_.opened(), before);
}

/// Completes `count` keys, whose retention is then over.
void expire_keys(blocking_store& caller, base::manual_clock& clock, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 100) {
    std::vector<claim> batch;
    for (std::size_t k = i; k < i + 100; ++k) batch.push_back(claim_of(std::to_string(k)));
    const auto verdicts = caller.claims(batch);
    std::vector<settlement> ends;
    for (std::size_t k = 0; k < batch.size(); ++k)
      ends.push_back(settle_of(batch[k], verdicts[k]->lease));
    caller.settles(ends);
  }
  clock.advance(day);
}

TEST_F(sqlite_fault_test, a_sweep_that_loses_the_lock_ends_with_what_it_has_removed) {
  const auto store = open(params());
  blocking_store caller(*store);
  constexpr std::size_t all = 1'000;
  expire_keys(caller, clock_, all);
  connection other(params().path, nullptr);
  // Between the first slice and the next one.
  faults_.when_the_write_lock_is_free([&] { other.run("BEGIN IMMEDIATE"); });
  const auto removed = caller.try_sweep(all);  // it does not wait for the lock
  other.run("ROLLBACK");
  ASSERT_TRUE(removed) << removed.error().detail;
  EXPECT_GT(*removed, 0u);
  EXPECT_LT(*removed, all);
}

TEST_F(sqlite_fault_test, a_commit_without_room_changes_nothing_and_later_claims_recover) {
  const auto store = open(params());
  blocking_store caller(*store);
  caller.completed(claim_of("done"));
  faults_.full(true);
  const auto verdict = caller.try_claim(claim_of("k"));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_full);
  EXPECT_EQ(verdict.error().effect, effect::none);
  EXPECT_TRUE(verdict.error().retryable());
  EXPECT_EQ(caller.claim(claim_of("done")).kind, verdict_kind::replay);  // a replay writes nothing
  faults_.full(false);
  EXPECT_EQ(caller.leased(claim_of("k")).attempt, 1u);
}

TEST_F(sqlite_fault_test, a_boot_that_could_not_be_recorded_without_room_is_recorded_later) {
  open(params())->stop();
  clock_.reboot("boot-2");
  {
    const auto store = open(params());
    blocking_store caller(*store);
    faults_.full(true);
    EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::store_full);
    faults_.full(false);
    caller.leased(claim_of("k"));
    store->stop();
  }
  clock_.reboot("boot-3");
  const auto store = open(params());
  blocking_store caller(*store);
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::unknown);
}

TEST_F(sqlite_fault_test, a_batch_that_writes_nothing_flushes_nothing) {
  const auto store = open(params());
  blocking_store caller(*store);
  caller.completed(claim_of("k"));
  const auto before = faults_.flushed();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(faults_.flushed(), before);
}

TEST_F(sqlite_fault_test, concurrent_callers_share_a_flush) {
  const auto store = open(params());
  blocking_store warm(*store);
  warm.leased(claim_of("warm"));
  const auto before = faults_.flushed();
  connection neighbour(params().path, nullptr);
  neighbour.run("BEGIN IMMEDIATE");
  boost::asio::io_context context;
  int granted = 0;
  for (int i = 0; i < 64; ++i) {
    const auto count = [&](std::exception_ptr, std::vector<result<verdict>> items) {
      granted += items[0] && items[0]->kind == verdict_kind::run ? 1 : 0;
    };
    boost::asio::co_spawn(context, store->claim({claim_of(std::to_string(i))}, patience), count);
  }
  context.poll();
  neighbour.run("COMMIT");
  context.run();
  EXPECT_EQ(granted, 64);
  // An idle writer begins with the first claims. The other claims collect while the writer waits,
  // and share the next flush.
  EXPECT_GE(faults_.flushed(), before + 1);
  EXPECT_LE(faults_.flushed(), before + 2);
}

TEST_F(sqlite_fault_test, a_file_that_is_replaced_while_a_commit_is_flushed_grants_nothing) {
  auto value = params();
  value.recreate_after = milliseconds(0);
  const auto store = open(value);
  blocking_store caller(*store);
  caller.leased(claim_of("before"));
  faults_.flushes(flush_fault::hang);
  std::optional<result<verdict>> granted;
  std::thread claimant([&] {
    blocking_store own(*store);
    granted = own.try_claim(claim_of("k"));
  });
  faults_.wait_for_hang();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(value.path + suffix);
  faults_.flushes(flush_fault::none);
  claimant.join();
  ASSERT_FALSE(*granted);
  EXPECT_EQ(granted->error().code, errc::store_lost);
  EXPECT_EQ(granted->error().effect, effect::unknown);
}

class sqlite_checkpoint_test : public sqlite_fault_test {
 protected:
  sqlite_checkpoint_test() {
    params_.checkpoint_pages = 20;
    params_.recreate_after = milliseconds(0);
    store_ = open(params_);
    blocking_.emplace(*store_);
  }
  ~sqlite_checkpoint_test() override { faults_.file.set(flush_fault::none); }
  void complete(int count) {
    for (int i = 0; i < count; ++i) blocking_->completed(claim_of(std::to_string(next_++)));
  }
  [[nodiscard]] std::uintmax_t log_size() const {
    return std::filesystem::file_size(params_.path + "-wal");
  }
  /// Without checkpoints, the write-ahead log would grow by five pages with each record. On a busy
  /// machine the thread that runs them may begin late, and nobody waits for it.
  void expect_short_log() {
    wait_until("a log that stays short", [this] {
      const auto before = log_size();
      complete(500);
      return log_size() <= before + (1u << 20);
    });
  }

  sqlite_params params_ = params();
  std::unique_ptr<sqlite_store> store_;
  std::optional<blocking_store> blocking_;
  int next_ = 0;
};

TEST_F(sqlite_checkpoint_test, no_claim_waits_for_a_hanging_checkpoint) {
  faults_.file.set(flush_fault::hang);
  complete(50);
  faults_.file.wait_for_hang();
  complete(50);
  EXPECT_EQ(blocking_->counted(observed_state::completed), 100u);
  faults_.file.set(flush_fault::none);
  expect_short_log();
}

TEST_F(sqlite_checkpoint_test, a_failed_checkpoint_is_made_up_for) {
  faults_.file.set(flush_fault::fail);
  complete(100);
  faults_.file.wait_for_failure();
  faults_.file.set(flush_fault::none);
  expect_short_log();
}

TEST_F(sqlite_checkpoint_test, checkpoints_continue_on_a_recreated_file) {
  complete(50);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(params_.path + suffix);
  EXPECT_FALSE(blocking_->try_claim(claim_of("told")));
  blocking_->vitals();
  blocking_->vitals();  // the second poll shows that the caller has noted the new file
  complete(50);
  expect_short_log();
  EXPECT_EQ(blocking_->counted(observed_state::completed), static_cast<std::size_t>(next_ - 50));
}

TEST_F(sqlite_fault_test, a_file_at_its_size_limit_is_full_until_the_sweep_makes_room) {
  auto value = params(nullptr);
  value.page_count_max = 40;
  const auto store = open(value);
  blocking_store caller(*store);
  std::size_t stored = 0;
  for (bool full = false; !full; ++stored) {
    const auto request = claim_of(std::to_string(stored));
    const auto verdict = caller.try_claim(request);
    if (verdict) caller.settles({settle_of(request, verdict->lease)});
    full = !verdict;
    if (full) {
      EXPECT_EQ(verdict.error().code, errc::store_full);
    }
    ASSERT_LT(stored, 2'000u);
  }
  clock_.advance(day);
  EXPECT_GT(caller.sweep(1'000), 50u);
  EXPECT_EQ(caller.claim(claim_of("next")).kind, verdict_kind::run);
}

TEST_F(sqlite_fault_test, a_full_disk_gives_errors_and_loses_no_record) {
  small_disk disk(folder_.file("disk"), "512k");
  auto value = params(nullptr);
  value.path = folder_.file("disk/store.db");
  // Without the right to mount a small disk, a file that may not grow shows the same.
  if (!disk.mounted()) value.page_count_max = 100;
  const auto store = open(value);
  blocking_store caller(*store);
  std::vector<std::string> kept;
  for (int i = 0; i < 5'000; ++i) {
    const auto request = claim_of(std::to_string(i));
    const auto verdict = caller.try_claim(request);
    if (!verdict) {
      EXPECT_EQ(verdict.error().code, errc::store_full) << verdict.error().detail;
      break;
    }
    auto change = settle_of(request, verdict->lease);
    change.answer = answer_of(std::string(1'000, 'x'));
    if (!caller.settles({change})[0]) break;
    kept.push_back(request.about->key);
  }
  ASSERT_FALSE(kept.empty());
  ASSERT_LT(kept.size(), 5'000u);
  for (const auto& key : kept) {
    EXPECT_EQ(caller.claim(claim_of(key)).kind, verdict_kind::replay) << key;
  }
  if (!disk.mounted()) return;
  ASSERT_TRUE(disk.resize("4m"));
  EXPECT_EQ(caller.claim(claim_of("room again")).kind, verdict_kind::run);
}

}  // namespace
}  // namespace onceguard::testing
