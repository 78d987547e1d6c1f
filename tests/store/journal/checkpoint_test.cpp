// A start by a checkpoint: what it reads, that it finds what the whole log says, and what becomes
// of a checkpoint that is damaged, torn, or older than the log.
#include "store/journal/checkpoint.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hex.hpp"
#include "simulated_disk.hpp"
#include "store/contract/acts.hpp"
#include "store/journal/files.hpp"
#include "store/journal/journal_store.hpp"
#include "store/journal/watched_folder.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using journal::checkpoint_name;
using journal::journal_params;
using journal::journal_store;
using sim::simulated_disk;
using ::testing::HasSubstr;

class journal_checkpoint_test : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("journal"); }
  [[nodiscard]] std::string checkpoint() const { return path() + "/" + checkpoint_name; }
  [[nodiscard]] journal_params params() {
    journal_params out;
    out.path = path();
    out.clock = &clock_;
    out.segment_size = 4'096;
    out.cache_size = 0;
    out.checkpoint_after = checkpoint_after_;
    out.files = [this](const std::string& path) { return watch_folder(path, read_); };
    return out;
  }
  blocking_store& reopen() {
    close();
    read_.clear();
    auto opened = journal_store::open(params());
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = std::move(*opened);
    caller_.emplace(*store_);
    return *caller_;
  }
  void close() {
    caller_.reset();
    store_.reset();
  }
  /// Completes so many keys, one group each, and closes the journal.
  void fill(const std::string& name, int keys) {
    auto& caller = reopen();
    for (int i = 0; i < keys; ++i) caller.completed(claim_of(name + std::to_string(i)));
    close();
  }
  /// Of the journal as it is now, which must be closed.
  void make_checkpoint() {
    const auto used = params();
    const auto opened = journal::open_journal::open(used);
    ASSERT_TRUE(opened) << opened.error().detail;
    const auto written = journal::write_checkpoint(**opened, std::atomic<bool>(false));
    ASSERT_TRUE(written) << written.error().detail;
    ASSERT_TRUE(*written);
  }
  /// All that a caller can see.
  std::string content() {
    std::string out;
    std::string cursor;
    do {
      const auto page = caller_->list({}, cursor, 1'000);
      for (const auto& each : page.records) {
        out += base::to_hex(each.id) + " " + std::to_string(each.stored.token) + " " +
               std::to_string(static_cast<int>(each.state)) + "\n";
      }
      for (const auto& each : page.unreadable) out += base::to_hex(each.id) + " unreadable\n";
      cursor = page.cursor;
    } while (!cursor.empty());
    const auto vitals = caller_->vitals();
    return out + vitals.identity + " " + std::to_string(vitals.generation) + " " +
           std::to_string(vitals.forgotten);
  }
  void expect_lost(const std::string& why) {
    close();
    const auto opened = journal_store::open(params());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::store_lost);
    EXPECT_THAT(opened.error().detail, HasSubstr(why));
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  const journal_files files_{folder_.file("journal")};
  std::uint64_t checkpoint_after_ = std::uint64_t{1} << 30;
  folder_watch read_;
  std::unique_ptr<journal_store> store_;
  std::optional<blocking_store> caller_;
};

TEST_F(journal_checkpoint_test, a_start_reads_the_checkpoint_and_what_follows_it) {
  fill("k", 200);
  make_checkpoint();
  const auto covered = files_.segments().back();
  fill("later", 20);
  auto& caller = reopen();
  const auto segments = files_.segments();
  ASSERT_GT(covered, segments.front() + 40);
  ASSERT_GT(segments.back(), covered + 3);
  for (const auto number : segments) {
    if (number >= covered) continue;
    EXPECT_EQ(read_.at(journal::segment_name(number)), journal::segment_header_size) << number;
  }
  const auto size = std::filesystem::file_size(checkpoint());
  EXPECT_GE(read_.at(checkpoint_name), size);
  EXPECT_LE(read_.at(checkpoint_name), 2 * size);
  EXPECT_EQ(caller.counted(observed_state::completed), 220u);
}

TEST_F(journal_checkpoint_test, it_finds_what_the_whole_log_says) {
  auto& caller = reopen();
  const auto running = claim_of("running");
  const auto held = caller.leased(running);
  for (int i = 0; i < 60; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  close();
  make_checkpoint();
  reopen();
  caller_->completed(claim_of("after"));
  resolution release;
  release.id = claim_of("k7").id;
  caller_->resolve(release);
  const auto expected = content();
  reopen();
  EXPECT_EQ(content(), expected);
  EXPECT_EQ(caller_->settle(settle_of(running, held)).outcome, settle_outcome::done);
  const auto settled = content();
  close();
  std::filesystem::remove(checkpoint());
  reopen();
  EXPECT_EQ(content(), settled);
}

TEST_F(journal_checkpoint_test, a_damaged_one_is_not_used_and_nothing_is_lost) {
  fill("k", 40);
  make_checkpoint();
  reopen();
  const auto expected = content();
  close();
  const auto size = std::filesystem::file_size(checkpoint());
  for (std::uint64_t offset = 0; offset < size; offset += 97) {
    flip_byte(checkpoint(), offset);
    reopen();
    EXPECT_GT(read_.at(journal::segment_name(1)), journal::segment_header_size) << offset;
    EXPECT_EQ(content(), expected) << offset;
    close();
    flip_byte(checkpoint(), offset);
  }
  // By its size alone, its keys would not fit into memory.
  std::filesystem::resize_file(checkpoint(), std::uint64_t{1} << 40);
  reopen();
  EXPECT_EQ(content(), expected);
  close();
  for (const std::uint64_t left : {std::uint64_t{0}, size / 2, size - 1}) {
    std::filesystem::resize_file(checkpoint(), left);
    reopen();
    EXPECT_EQ(content(), expected) << left;
    close();
  }
}

TEST_F(journal_checkpoint_test, a_log_that_ends_before_it_has_lost_something) {
  fill("k", 30);
  make_checkpoint();
  const auto commit = files_.frames().back();
  ASSERT_EQ(commit.header.kind, journal::frame_kind::commit);
  files_.flip(commit, 7);
  // Without the checkpoint it could be the torn group of a power cut.
  expect_lost("when the checkpoint was written");
  files_.flip(commit, 7);
  fill("later", 1);
  const auto later = files_.frames().back();
  const auto bytes = std::filesystem::file_size(files_.path(later.segment));
  make_checkpoint();
  std::filesystem::resize_file(files_.path(later.segment), later.offset);
  std::filesystem::resize_file(files_.path(later.segment), bytes);
  expect_lost("when the checkpoint was written");
  std::filesystem::rename(files_.path(later.segment), folder_.file("kept"));
  // As that group was read alone or with those of other callers: it went on, or it ended there.
  expect_lost("when the checkpoint was written");
}

TEST_F(journal_checkpoint_test, another_format_is_refused_and_named) {
  fill("k", 1);
  std::fstream file(files_.path(1), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(20);
  file.put(1);
  file.close();
  const auto opened = journal_store::open(params());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::invalid_argument);
  EXPECT_THAT(opened.error().detail, HasSubstr("segment-0000000001 has format 1"));
}

TEST_F(journal_checkpoint_test, without_a_segment_something_is_lost) {
  fill("k", 30);
  make_checkpoint();
  for (const auto each : files_.segments()) std::filesystem::remove(files_.path(each));
  expect_lost("no segment");
}

TEST_F(journal_checkpoint_test, keys_of_segments_that_were_removed_are_left_out) {
  fill("k", 60);
  make_checkpoint();
  auto& caller = reopen();
  clock_.advance(day);
  caller.completed(claim_of("young"));
  const auto covered = files_.segments().back();
  EXPECT_EQ(caller.sweep(), 60u);
  wait_until("segments to go", [&] { return files_.segments().front() + 1 >= covered; });
  auto& after = reopen();
  EXPECT_EQ(after.counted(observed_state::completed), 1u);
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(after.claim(claim_of("k" + std::to_string(i))).kind, verdict_kind::run) << i;
  }
}

TEST_F(journal_checkpoint_test, one_of_which_the_log_has_nothing_left_is_not_used) {
  fill("k", 10);
  make_checkpoint();
  auto& caller = reopen();
  const auto covered = files_.segments().back();
  clock_.advance(day);
  for (int i = 0; i < 20; ++i) caller.completed(claim_of("young" + std::to_string(i)));
  EXPECT_EQ(caller.sweep(), 10u);
  for (int i = 20; i < 40; ++i) caller.completed(claim_of("young" + std::to_string(i)));
  clock_.advance(day - second);
  caller.completed(claim_of("last"));
  clock_.advance(second);
  caller.sweep();
  wait_until("the covered segments to go", [&] { return files_.segments().front() > covered; });
  const auto expected = content();
  reopen();
  EXPECT_EQ(content(), expected);
}

TEST_F(journal_checkpoint_test, the_oldest_segment_is_missed_unless_the_log_says_that_it_may_go) {
  for (const bool with_checkpoint : {false, true}) {
    if (!with_checkpoint) fill("k", 30);
    if (with_checkpoint) make_checkpoint();
    const auto oldest = files_.path(files_.segments().front());
    std::filesystem::rename(oldest, folder_.file("kept"));
    expect_lost("segment-0000000001 at byte 0: the file is missing");
    std::filesystem::rename(folder_.file("kept"), oldest);
    EXPECT_EQ(reopen().counted(observed_state::completed), 30u);
    close();
  }
}

TEST_F(journal_checkpoint_test, the_store_writes_one_once_enough_was_appended) {
  checkpoint_after_ = 8'192;
  auto& caller = reopen();
  caller.completed(claim_of("first"));
  EXPECT_FALSE(std::filesystem::exists(checkpoint()));
  for (int i = 0; i < 40; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  wait_until("the checkpoint", [&] { return std::filesystem::exists(checkpoint()); });
  auto& after = reopen();
  EXPECT_EQ(read_.at(journal::segment_name(1)), journal::segment_header_size);
  EXPECT_EQ(after.counted(observed_state::completed), 41u);
}

TEST_F(journal_checkpoint_test, what_changes_while_it_is_written_is_read_from_the_log) {
  checkpoint_after_ = 16'384;
  const auto early = claim_of("early");
  const auto held = reopen().leased(early);
  std::atomic<int> blocks{0};
  read_.on_write = [&](const std::string& name) {
    // The first block has the head, and the second one the key as it is now.
    if (name != journal::new_checkpoint_name || ++blocks != 2) return;
    blocking_store another(*store_);
    another.settle(settle_of(early, held));
    another.completed(claim_of("between"));
  };
  reopen();
  for (int i = 0; !std::filesystem::exists(checkpoint()); ++i) {
    ASSERT_LT(i, 1'000);
    caller_->completed(claim_of("k" + std::to_string(i)));
  }
  close();
  read_.on_write = nullptr;
  checkpoint_after_ = std::uint64_t{1} << 30;
  EXPECT_EQ(reopen().claim(early).kind, verdict_kind::replay);
  EXPECT_EQ(caller_->claim(claim_of("between")).kind, verdict_kind::replay);
  const auto expected = content();
  close();
  const auto kept = folder_.file("kept");
  std::filesystem::rename(checkpoint(), kept);
  reopen();
  EXPECT_EQ(content(), expected);
  close();
  // Nothing behind the change is left in the log: the checkpoint has seen its group.
  std::filesystem::rename(kept, checkpoint());
  const auto changed = files_.latest_frame_of(claim_of("between").id);
  std::filesystem::resize_file(files_.path(changed.segment), changed.offset);
  for (const auto each : files_.segments()) {
    if (each > changed.segment) std::filesystem::remove(files_.path(each));
  }
  expect_lost("went on when the checkpoint was written");
}

TEST_F(journal_checkpoint_test, one_that_is_written_under_load_finds_what_the_whole_log_says) {
  checkpoint_after_ = 1;
  auto& caller = reopen();
  std::atomic<bool> ended{false};
  std::thread sweeping([&] {
    blocking_store another(*store_);
    while (!ended) static_cast<void>(another.sweep());
  });
  for (int i = 0; i < 300; ++i) {
    auto request = claim_of("k" + std::to_string(i));
    if (i % 5 == 0) {
      caller.leased(request);
    } else {
      caller.completed(request);
    }
    if (i % 60 == 59) clock_.advance(day / 2);
  }
  ended = true;
  sweeping.join();
  wait_until("a checkpoint", [&] { return std::filesystem::exists(checkpoint()); });
  close();
  checkpoint_after_ = std::uint64_t{1} << 30;
  reopen();
  const auto by_checkpoint = content();
  close();
  std::filesystem::remove(checkpoint());
  reopen();
  EXPECT_EQ(content(), by_checkpoint);
}

/// Of a checkpoint on a disk that fails, or loses its power, at each act of its writing.
TEST(journal_checkpoint_fault_test, whatever_becomes_of_it_the_records_are_kept) {
  base::manual_clock clock;
  for (const auto kind : {simulated_disk::fault::once, simulated_disk::fault::cut}) {
    bool failed = true;
    for (std::uint64_t act = 0; failed; ++act) {
      simulated_disk disk;
      journal_params params;
      params.path = "simulated";
      params.clock = &clock;
      params.segment_size = 4'096;
      params.files = [&](const std::string&) -> result<std::unique_ptr<journal::file_layer>> {
        return disk.mount();
      };
      const auto open = [&] {
        auto opened = journal_store::open(params);
        if (!opened) throw std::runtime_error(opened.error().detail);
        return std::move(*opened);
      };
      const auto complete = [&](int first, int end) {
        const auto store = open();
        blocking_store caller(*store);
        for (int i = first; i < end; ++i) caller.completed(claim_of("k" + std::to_string(i)));
        store->stop();
      };
      const auto write = [&] {
        const auto opened = journal::open_journal::open(params);
        if (!opened) throw std::runtime_error(opened.error().detail);
        disk.fail_after(act, EIO, kind);
        const auto written = journal::write_checkpoint(**opened, std::atomic<bool>(false));
        failed = disk.has_failed();
        disk.heal();
        if (failed && act < 3) {
          EXPECT_FALSE(written);
        }
      };
      complete(0, 20);
      write();
      if (kind == simulated_disk::fault::cut) disk.cut_power(static_cast<std::uint32_t>(act));
      complete(20, 24);
      const auto store = open();
      blocking_store caller(*store);
      EXPECT_EQ(caller.counted(observed_state::completed), 24u) << act;
      ASSERT_LT(act, 40u);
    }
  }
}

}  // namespace
}  // namespace onceguard::testing
