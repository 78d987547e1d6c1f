// A journal that is opened again: after damage, beside its owner, and once segments have gone.
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/journal/reopened_journal.hpp"
#include "support/forked_process.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using journal::journal_params;
using journal::journal_store;
using ::testing::AllOf;
using ::testing::HasSubstr;

using journal_recovery_test = reopened_journal;

TEST_F(journal_recovery_test, another_owner_is_refused_and_answered_what_to_do) {
  reopen().completed(claim_of("k"));
  const auto other = try_open();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, errc::store_unreachable);
  EXPECT_THAT(other.error().detail,
              AllOf(HasSubstr("another process (" + std::to_string(::getpid()) + ") has it open"),
                    HasSubstr("sqlite:PATH")));
  EXPECT_EQ(caller_->claim(claim_of("k")).kind, verdict_kind::replay);
}

/// A program of the user's forks, and ends. What it forked executes nothing, and lives on.
TEST_F(journal_recovery_test, what_is_forked_does_not_own_it) {
  reopen().completed(claim_of("k"));
  const forked_process forked;
  EXPECT_FALSE(try_open());
  EXPECT_EQ(reopen().claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(journal_recovery_test, a_file_is_no_folder_of_a_journal) {
  std::ofstream(path()) << "a file";
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::invalid_argument);
}

TEST_F(journal_recovery_test, a_relative_path_is_no_place) {
  for (const std::string path : {"journal", "./journal", ""}) {
    journal_params params;
    params.path = path;
    const auto opened = journal_store::open(std::move(params));
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, errc::invalid_argument) << path;
  }
  EXPECT_FALSE(std::filesystem::exists("journal"));
}

TEST_F(journal_recovery_test, a_folder_with_files_of_somebody_else_is_left_alone) {
  std::filesystem::create_directory(path());
  std::filesystem::create_directory(path() + "/lost+found");  // of a volume of its own
  std::ofstream(path() + "/photo") << "mine";
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_THAT(refused.error().detail, HasSubstr("photo"));
  EXPECT_FALSE(std::filesystem::exists(path() + "/owner"));
  std::filesystem::remove(path() + "/photo");
  reopen().completed(claim_of("k"));
  // Beside a journal they do no harm.
  std::ofstream(path() + "/photo") << "mine";
  EXPECT_EQ(reopen().claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(journal_recovery_test, a_folder_whose_lock_file_was_removed_has_its_owner) {
  reopen().completed(claim_of("k"));
  for (const auto& each : std::filesystem::directory_iterator(path())) {
    if (!journal::segment_number(each.path().filename().string())) {
      std::filesystem::remove(each.path());
    }
  }
  const auto other = try_open();
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().detail, HasSubstr("another process has it open"));
}

TEST_F(journal_recovery_test, records_numbers_and_counters_are_those_of_before) {
  auto& caller = reopen();
  for (int i = 0; i < 30; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  const auto running = claim_of("running");
  const auto held = caller.leased(running);
  const auto before = caller.vitals();
  const auto listed = caller.list({}, {}, 100);
  auto& after = reopen();
  EXPECT_EQ(after.vitals().identity, before.identity);
  EXPECT_EQ(after.vitals().generation, before.generation);
  const auto again = after.list({}, {}, 100);
  ASSERT_EQ(again.records.size(), listed.records.size());
  for (std::size_t i = 0; i < again.records.size(); ++i) {
    EXPECT_EQ(again.records[i].id, listed.records[i].id) << i;
    EXPECT_EQ(again.records[i].stored.token, listed.records[i].stored.token) << i;
  }
  EXPECT_EQ(after.claim(claim_of("running")).kind, verdict_kind::busy);
  EXPECT_EQ(after.settle(settle_of(running, held)).outcome, settle_outcome::done);
}

TEST_F(journal_recovery_test, a_damaged_body_costs_its_own_record_only) {
  fill(30);
  const auto id = claim_of("k3").id;
  const auto frame = files_.latest_frame_of(id);
  ASSERT_LT(frame.segment, files_.segments().back());
  files_.flip(frame, journal::frame_header_size + 30);
  auto& caller = reopen();
  const auto verdict = caller.try_claim(claim_of("k3"));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::record_unreadable);
  EXPECT_THAT(verdict.error().detail, AllOf(HasSubstr(journal::segment_name(frame.segment)),
                                            HasSubstr("byte " + std::to_string(frame.offset))));
  EXPECT_EQ(caller.counts_of_all().unreadable, 1u);
  EXPECT_EQ(caller.counted(observed_state::completed), 29u);
}

TEST_F(journal_recovery_test, a_damaged_header_names_its_segment_and_offset) {
  fill(30);
  const auto frame = files_.latest_frame_of(claim_of("k3").id);
  for (const std::uint64_t behind : {0u, 5u, 9u, 40u, 95u}) {
    files_.flip(frame, behind);
    expect_lost(journal::segment_name(frame.segment), frame.offset);
    files_.flip(frame, behind);
  }
  EXPECT_EQ(reopen().counted(observed_state::completed), 30u);
}

TEST_F(journal_recovery_test, damage_in_the_last_segment_is_no_torn_end_if_groups_follow) {
  fill(30);
  const auto all = files_.frames();
  std::vector<journal_files::found_frame> last;
  for (const auto& each : all) {
    if (each.segment == files_.segments().back()) last.push_back(each);
  }
  ASSERT_GT(last.size(), 4u);
  files_.flip(last[1], 7);  // of the first group's commit
  expect_lost(journal::segment_name(last[1].segment), journal::segment_header_size);
}

TEST_F(journal_recovery_test, the_torn_end_of_the_log_is_cut_off) {
  fill(30);
  const auto all = files_.frames();
  const auto& commit = all.back();
  ASSERT_EQ(commit.header.kind, journal::frame_kind::commit);
  files_.flip(commit, journal::frame_header_size + 2);
  {
    auto& caller = reopen();
    // The last group was the completion of the last key: its lease is what is left.
    EXPECT_EQ(caller.counted(observed_state::completed), 29u);
    EXPECT_EQ(caller.claim(claim_of("k29")).kind, verdict_kind::busy);
    caller.completed(claim_of("after"));
  }
  auto& caller = reopen();
  EXPECT_EQ(caller.claim(claim_of("after")).kind, verdict_kind::replay);
  EXPECT_EQ(caller.counted(observed_state::completed), 30u);
}

/// A later group, as far as one can be made of these bytes.
std::string forged_frames(std::uint64_t seed) {
  std::string out;
  for (std::uint64_t group = 1; group < 100; ++group) {
    journal::frame_header header;
    header.kind = journal::frame_kind::commit;
    header.group = group;
    journal::append_frame(out, seed, header, "");
  }
  return out;
}

TEST_F(journal_recovery_test, bytes_of_an_answer_are_no_frames_of_a_torn_end) {
  fill(1);
  const auto number = files_.segments().back();
  std::string body;
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{number}, files_.seed_of(number)}) {
    for (int skip = 0; skip < 8; ++skip) body += forged_frames(seed) + " ";
  }
  for (const bool headers_are_torn : {false, true}) {
    const std::string key = headers_are_torn ? "other" : "answered";
    // Their own segment's seed is what nobody knows. With it, they must not stand behind a header.
    if (headers_are_torn) body.resize(body.size() * 2 / 3);
    auto& caller = reopen();
    const auto request = claim_of(key);
    auto done = settle_of(request, caller.leased(request));
    done.answer = answer_of(body);
    caller.settle(done);
    close();
    const auto all = files_.frames();
    files_.flip(all.back(), 8);  // the commit of the last group
    if (headers_are_torn) files_.flip(all[all.size() - 2], 8);
    EXPECT_EQ(reopen().claim(claim_of(key)).kind, verdict_kind::busy);
    close();
  }
}

TEST_F(journal_recovery_test, missing_short_and_foreign_segments_are_losses) {
  fill(30);
  const auto segments = files_.segments();
  ASSERT_GT(segments.size(), 4u);
  const auto second = files_.path(segments[1]);
  const auto kept = folder_.file("kept");
  std::filesystem::rename(second, kept);
  expect_lost(journal::segment_name(segments[1]), 0);
  std::filesystem::copy_file(files_.path(segments[2]), second);
  expect_lost(journal::segment_name(segments[1]), 0);
  std::filesystem::remove(second);
  std::filesystem::copy_file(kept, second);
  std::filesystem::resize_file(second, journal::segment_header_size);
  expect_lost(journal::segment_name(segments[1]), journal::segment_header_size);
  std::filesystem::remove(second);
  std::filesystem::rename(kept, second);
  EXPECT_EQ(reopen().counted(observed_state::completed), 30u);
}

TEST_F(journal_recovery_test, a_new_segment_alone_is_no_empty_journal) {
  fill(30);
  const auto segments = files_.segments();
  ASSERT_GT(segments.size(), 4u);
  const auto newest = files_.path(segments.back());
  // As it is before its first group.
  std::filesystem::resize_file(newest, journal::segment_header_size);
  std::filesystem::resize_file(newest, 4'096);
  for (const auto number : segments) {
    if (number != segments.back()) std::filesystem::remove(files_.path(number));
  }
  std::filesystem::remove(path() + "/checkpoint");
  expect_lost(journal::segment_name(segments.back() - 1), 0);
}

TEST_F(journal_recovery_test, what_a_killed_process_had_begun_takes_no_room) {
  fill(3);
  for (const std::string name : {journal::new_segment_name, journal::new_checkpoint_name}) {
    std::ofstream(path() + "/" + name) << std::string(5'000, '\0');
  }
  auto& caller = reopen();
  EXPECT_FALSE(std::filesystem::exists(path() + "/" + journal::new_segment_name));
  EXPECT_FALSE(std::filesystem::exists(path() + "/" + journal::new_checkpoint_name));
  EXPECT_EQ(caller.counted(observed_state::completed), 3u);
}

TEST_F(journal_recovery_test, segments_go_once_their_records_have_expired) {
  auto& caller = reopen();
  for (int i = 0; i < 30; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  EXPECT_GT(files_.segments().size(), 5u);
  clock_.advance(day);
  caller.completed(claim_of("young"));
  EXPECT_EQ(caller.sweep(), 30u);
  wait_until("the segments to go", [&] { return files_.segments().size() <= 2; });
  EXPECT_EQ(reopen().counted(observed_state::completed), 1u);
}

TEST_F(journal_recovery_test, what_lives_long_moves_on_as_it_is) {
  auto& caller = reopen();
  const auto unknown = claim_of("unknown");
  caller.leased(unknown);
  const auto damaged = claim_of("damaged");
  caller.leased(damaged);
  for (int i = 0; i < 30; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  files_.flip(files_.latest_frame_of(damaged.id), journal::frame_header_size + 20);
  const auto first = files_.segments().front();
  const auto before = caller.seen(unknown.id);
  clock_.advance(day);
  caller.completed(claim_of("young"));
  EXPECT_EQ(caller.sweep(), 30u);
  wait_until("the segments to go", [&] { return files_.segments().front() > first + 3; });
  for (const bool again : {false, true}) {
    if (again) reopen();
    const auto after = caller_->seen(unknown.id);
    EXPECT_EQ(after.state, observed_state::unknown);
    EXPECT_EQ(after.stored.token, before.stored.token);
    EXPECT_EQ(after.stored.deadline_lease, before.stored.deadline_lease);
    EXPECT_EQ(caller_->list().records.front().id, unknown.id);
    const auto verdict = caller_->try_claim(claim_of("damaged"));
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, errc::record_unreadable);
  }
}

TEST_F(journal_recovery_test, files_that_are_removed_under_the_owner_are_a_loss) {
  auto& caller = reopen();
  caller.completed(claim_of("k"));
  std::filesystem::remove_all(path());
  const auto verdict = caller.try_claim(claim_of("another"));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_lost);
  const auto vitals = caller.try_vitals();
  ASSERT_FALSE(vitals);
  EXPECT_EQ(vitals.error().code, errc::store_lost);
  auto& after = reopen();
  EXPECT_EQ(after.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(journal_recovery_test, a_copy_in_place_of_the_folder_is_not_the_folder) {
  auto& caller = reopen();
  caller.completed(claim_of("k"));
  std::filesystem::rename(path(), path() + ".moved");
  std::filesystem::copy(path() + ".moved", path());
  const auto verdict = caller.try_claim(claim_of("another"));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_lost);
  EXPECT_EQ(verdict.error().effect, effect::none);
  EXPECT_EQ(caller.try_vitals().error().code, errc::store_lost);
  EXPECT_EQ(reopen().claim(claim_of("k")).kind, verdict_kind::replay);
}

TEST_F(journal_recovery_test, a_damaged_header_keeps_no_segment) {
  auto& caller = reopen();
  const auto unknown = claim_of("unknown");
  const auto damaged = claim_of("damaged");
  caller.leased(damaged);
  caller.leased(unknown);
  for (int i = 0; i < 30; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  files_.flip(files_.latest_frame_of(damaged.id), 9);
  const auto first = files_.segments().front();
  clock_.advance(day);
  caller.completed(claim_of("young"));
  EXPECT_EQ(caller.sweep(), 30u);
  wait_until("the segments to go", [&] { return files_.segments().front() > first + 3; });
  for (const bool again : {false, true}) {
    if (again) reopen();
    EXPECT_EQ(caller_->seen(unknown.id).state, observed_state::unknown);
    const auto verdict = caller_->try_claim(claim_of("damaged"));
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, errc::record_unreadable);
  }
}

}  // namespace
}  // namespace onceguard::testing
