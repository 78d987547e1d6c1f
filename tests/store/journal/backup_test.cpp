// Copies of a journal: beside its owner, under load, of damage, and put back.
#include "store/journal/backup.hpp"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/journal/files.hpp"
#include "store/journal/journal_store.hpp"
#include "store/journal/watched_folder.hpp"
#include "store/linked_stores.hpp"
#include "support/small_disk.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using journal::journal_params;
using journal::journal_store;
using ::testing::HasSubstr;

class journal_backup_test : public ::testing::Test {
 protected:
  [[nodiscard]] journal_params params(const std::string& name = "journal") {
    journal_params out;
    out.path = folder_.file(name);
    out.clock = &clock_;
    out.segment_size = 4'096;
    return out;
  }
  blocking_store& reopen(const std::string& name = "journal") {
    close();
    auto opened = journal_store::open(params(name));
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = std::move(*opened);
    caller_.emplace(*store_);
    return *caller_;
  }
  void close() {
    caller_.reset();
    store_.reset();
  }
  void complete(const std::string& name, int keys) {
    for (int i = 0; i < keys; ++i) caller_->completed(claim_of(name + std::to_string(i)));
  }
  void back_up(const std::string& target = "copy") {
    const auto done = journal::back_up(params(), folder_.file(target));
    ASSERT_TRUE(done) << done.error().detail;
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  const journal_files files_{folder_.file("journal")};
  const journal_files copied_{folder_.file("copy")};
  std::unique_ptr<journal_store> store_;
  std::optional<blocking_store> caller_;
};

TEST_F(journal_backup_test, beside_its_owner_it_has_what_was_answered_before) {
  reopen();
  complete("k", 40);
  back_up();
  complete("later", 40);
  ASSERT_GT(copied_.segments().size(), 5u);
  for (const auto number : copied_.segments()) {
    const bool is_last = number == copied_.segments().back();
    // A last segment that its owner goes on writing has to be a file of its own.
    EXPECT_EQ(std::filesystem::equivalent(copied_.path(number), files_.path(number)), !is_last);
  }
  const auto checked = journal::check(folder_.file("copy"));
  ASSERT_TRUE(checked) << checked.error().detail;
  EXPECT_EQ(checked->keys, 40u);
  EXPECT_EQ(checked->unreadable, 0u);
  auto& copy = reopen("copy");
  EXPECT_EQ(copy.claim(claim_of("k39")).kind, verdict_kind::replay);
  EXPECT_EQ(copy.claim(claim_of("later0")).kind, verdict_kind::run);
  // What is written to the copy does not reach the journal.
  complete("copied", 40);
  EXPECT_EQ(reopen().counted(observed_state::completed), 80u);
}

TEST_F(journal_backup_test, while_its_owner_writes_and_removes_segments_each_copy_is_whole) {
  reopen();
  std::atomic<int> done{0};
  std::jthread working([&](const std::stop_token& stop) {
    blocking_store another(*store_);
    for (int i = 0; !stop.stop_requested(); ++i) {
      another.completed(claim_of("k" + std::to_string(i)));
      done = i + 1;
      if (i % 10 == 9) another.sweep();
    }
  });
  for (int i = 0; i < 25; ++i) {
    const auto name = "copy" + std::to_string(i);
    const int before = done;
    wait_until("the next key", [&] { return done > before + 2; });
    const int least = done;
    const auto copied = journal::back_up(params(), folder_.file(name));
    ASSERT_TRUE(copied) << copied.error().detail;
    auto opened = journal_store::open(params(name));
    ASSERT_TRUE(opened) << opened.error().detail;
    blocking_store copy(**opened);
    EXPECT_EQ(copy.claim(claim_of("k" + std::to_string(least - 1))).kind, verdict_kind::replay);
    clock_.advance(day / 2);  // the next sweeps remove segments while the next copy is made
  }
  working.request_stop();
  working.join();
  EXPECT_GT(files_.segments().front(), 1u);
}

TEST_F(journal_backup_test, a_target_that_is_there_is_left_alone) {
  reopen();
  complete("k", 3);
  for (const std::string name : {"copy", "copy.part"}) {
    std::ofstream(folder_.file(name)) << "mine";
    const auto refused = journal::back_up(params(), folder_.file("copy"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::conflict);
    EXPECT_EQ(std::filesystem::file_size(folder_.file(name)), 4u);
    std::filesystem::remove(folder_.file(name));
  }
  back_up();
}

TEST_F(journal_backup_test, of_a_journal_with_a_damaged_header_there_is_none) {
  reopen();
  complete("k", 30);
  close();
  const auto frame = files_.latest_frame_of(claim_of("k3").id);
  files_.flip(frame, 8);
  const auto refused = journal::back_up(params(), folder_.file("copy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::store_lost);
  EXPECT_THAT(refused.error().detail, HasSubstr(journal::segment_name(frame.segment)));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("copy")));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("copy.part")));
}

/// Its owner does not know: it reads only what is asked of it.
TEST_F(journal_backup_test, of_one_whose_last_segment_has_it_there_is_none_either) {
  reopen();
  std::vector<journal_files::found_frame> groups;  // of the last segment: where each begins
  for (int i = 0; groups.size() < 4; ++i) {
    complete("k" + std::to_string(i) + " ", 1);
    groups.clear();
    const auto last = files_.segments().back();
    bool begins = true;
    for (const auto& each : files_.frames()) {
      if (each.segment != last) continue;
      if (begins) groups.push_back(each);
      begins = each.header.kind == journal::frame_kind::commit;
    }
  }
  for (const auto& damaged : {groups[0], groups[1]}) {
    files_.flip(damaged, 8);
    const auto refused = journal::back_up(params(), folder_.file("copy"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::store_lost);
    EXPECT_THAT(refused.error().detail, HasSubstr("byte " + std::to_string(damaged.offset)));
    files_.flip(damaged, 8);
  }
  back_up();
}

TEST_F(journal_backup_test, what_the_disk_does_not_deliver_is_not_the_end_of_a_segment) {
  reopen();
  complete("k", 3);
  const auto number = files_.segments().back();
  auto folder = journal::open_folder_to_read(params().path).value();
  folder_watch watch;
  const watched_file last(
      folder->open(journal::segment_name(number), journal::open_file::existing).value(), "", watch);
  std::uint64_t end = 0;
  EXPECT_EQ(journal::find_whole_end(last, files_.seed_of(number), end), 0);
  EXPECT_GT(end, journal::segment_header_size);
  watch.read_failure = [](const std::string&, std::uint64_t, std::size_t) { return EIO; };
  EXPECT_EQ(journal::find_whole_end(last, files_.seed_of(number), end), EIO);
}

TEST_F(journal_backup_test, a_check_finds_a_damaged_record_wherever_it_stands) {
  reopen();
  complete("k", 30);
  close();
  ASSERT_LT(files_.latest_frame_of(claim_of("k3").id).segment, files_.segments().back());
  for (const std::string key : {"k3", "k29"}) {
    const auto frame = files_.latest_frame_of(claim_of(key).id);
    files_.flip(frame, journal::frame_header_size + 30);
    const auto checked = journal::check(folder_.file("journal"));
    if (key == "k29") {
      // It is in the last group: that could be one that was never finished.
      ASSERT_TRUE(checked) << checked.error().detail;
      EXPECT_EQ(checked->unreadable, 0u);
    } else {
      ASSERT_TRUE(checked) << checked.error().detail;
      EXPECT_EQ(checked->keys, 30u);
      EXPECT_EQ(checked->unreadable, 1u);
    }
    files_.flip(frame, journal::frame_header_size + 30);
  }
}

TEST_F(journal_backup_test, a_copy_with_damaged_records_says_so) {
  reopen();
  complete("k", 30);
  files_.flip(files_.latest_frame_of(claim_of("k3").id), journal::frame_header_size + 30);
  const auto copied = journal::back_up(params(), folder_.file("copy"));
  ASSERT_TRUE(copied) << copied.error().detail;
  EXPECT_EQ(copied->keys, 30u);
  EXPECT_EQ(copied->unreadable, 1u);
  const auto url = "journal:" + params().path;
  store_params named;
  named.url = url;
  const auto& kind = *linked_stores().kind_of(url);
  const auto reported = kind.back_up(named, folder_.file("another"));
  ASSERT_FALSE(reported);
  EXPECT_EQ(reported.error().code, errc::record_unreadable);
  EXPECT_THAT(reported.error().detail, HasSubstr("of 30 keys 1 have a damaged record"));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("another")));
}

TEST_F(journal_backup_test, a_slash_at_the_end_of_a_path_changes_nothing) {
  reopen();
  complete("k", 3);
  back_up("copy/");
  close();
  auto restored = params();
  restored.path += "/";
  const auto former = journal::restore(restored, folder_.file("copy") + "/");
  ASSERT_TRUE(former) << former.error().detail;
  EXPECT_EQ(*former, folder_.file("journal.replaced-1"));
  EXPECT_EQ(reopen().counted(observed_state::completed), 3u);
}

TEST_F(journal_backup_test, a_volume_is_not_replaced_and_that_is_said_before_anything_is_copied) {
  reopen();
  complete("k", 3);
  back_up();
  close();
  const small_disk disk(folder_.file("disk"), "4m");
  ASSERT_TRUE(disk.mounted());
  std::filesystem::create_directory(folder_.file("disk.part"));  // it would be met on the way
  const auto refused = journal::restore(params("disk"), folder_.file("copy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_THAT(refused.error().detail, HasSubstr("a volume is mounted there"));
  const auto below = journal::restore(params("disk/journal"), folder_.file("copy"));
  ASSERT_TRUE(below) << below.error().detail;
}

TEST_F(journal_backup_test, put_back_it_is_another_store_and_tokens_go_on) {
  auto& caller = reopen();
  complete("k", 20);
  back_up();
  const auto before = caller.vitals();
  complete("later", 5);
  const auto last = caller.leased(claim_of("last"));
  close();
  const auto former = journal::restore(params(), folder_.file("copy"));
  ASSERT_TRUE(former) << former.error().detail;
  EXPECT_EQ(*former, folder_.file("journal.replaced-1"));
  clock_.advance(second);
  auto& after = reopen();
  EXPECT_NE(after.vitals().identity, before.identity);
  EXPECT_EQ(after.vitals().generation, before.generation);
  EXPECT_EQ(after.counted(observed_state::completed), 20u);
  EXPECT_GT(after.leased(claim_of("next")).token, last.token);
  // What was there before is whole, too.
  EXPECT_EQ(reopen("journal.replaced-1").counted(observed_state::completed), 25u);
}

TEST_F(journal_backup_test, a_journal_that_is_open_is_not_replaced) {
  reopen();
  complete("k", 3);
  back_up();
  complete("later", 1);
  const auto refused = journal::restore(params(), folder_.file("copy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::store_unreachable);
  EXPECT_EQ(reopen().counted(observed_state::completed), 4u);
}

TEST_F(journal_backup_test, a_copy_that_is_damaged_changes_nothing) {
  reopen();
  complete("k", 30);
  close();
  back_up();
  copied_.flip(copied_.segments().back(), 20);  // the others are the journal's own files
  const auto refused = journal::restore(params(), folder_.file("copy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_THAT(refused.error().detail, HasSubstr("nothing was changed"));
  EXPECT_EQ(reopen().counted(observed_state::completed), 30u);
}

TEST_F(journal_backup_test, it_is_put_where_there_is_no_journal) {
  reopen();
  complete("k", 3);
  back_up();
  close();
  std::filesystem::remove_all(folder_.file("journal"));
  const auto former = journal::restore(params(), folder_.file("copy"));
  ASSERT_TRUE(former) << former.error().detail;
  EXPECT_EQ(*former, "");
  EXPECT_EQ(reopen().counted(observed_state::completed), 3u);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("journal.part")));
}

}  // namespace
}  // namespace onceguard::testing
