// The SQLite store on a file with an overwritten page or an unreadable disk sector: claims of other
// records are still served.
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hex.hpp"
#include "store/contract/acts.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/wal_reader.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using sqlite::connection;
using sqlite::sqlite_params;
using sqlite::sqlite_store;

class sqlite_damage_test : public ::testing::Test {
 protected:
  static constexpr int records = 300;
  static constexpr std::int64_t damaged_row = 100;  // neither on the first page nor on the last

  sqlite_damage_test() {
    open();
    for (int i = 1; i <= records; ++i) caller_->completed(claim_of(old_key(i)));
  }
  static std::string old_key(int number) { return "old " + std::to_string(number); }
  void open() {
    sqlite_params sqlite;
    sqlite.path = path_;
    sqlite.clock = &clock_;
    sqlite.vfs = fault_vfs::name;
    auto opened = sqlite_store::open(sqlite);
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = std::move(*opened);
    caller_.emplace(*store_);
  }
  /// Overwrites the table page that holds `row`, while the file is closed.
  void overwrite_page_of(std::int64_t row) {
    const auto position = close_and_find(row);
    std::fstream raw(path_, std::ios::in | std::ios::out | std::ios::binary);
    raw.seekp(position);
    raw << std::string(static_cast<std::size_t>(page_size_), 'x');
    raw.close();
    open();
  }
  void damage() {
    overwrite_page_of(damaged_row);
    scan_pages();
  }
  void take_sector() {
    faults_.bad_sector(close_and_find(damaged_row));
    open();
    scan_pages();
  }
  void scan_pages() {
    for (int i = 1; i <= records; ++i) {
      if (caller_->try_find(claim_of(old_key(i)).id)) continue;
      damaged_.insert(i);
    }
    ASSERT_TRUE(damaged_.contains(static_cast<int>(damaged_row)));
    ASSERT_LT(damaged_.size(), 60u);
  }
  /// Closes the store and returns the offset of the leaf page that holds the record of `row`.
  std::int64_t close_and_find(std::int64_t row) {
    store_->stop();
    store_.reset();
    connection file(path_, nullptr);
    file.run("PRAGMA wal_checkpoint(TRUNCATE)");
    page_size_ = file.integer("PRAGMA page_size");
    const auto wanted = file.text("SELECT record FROM records WHERE id = " + std::to_string(row));
    std::ifstream raw(path_, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(raw)), {});
    const auto position = all.find(wanted);
    if (position == std::string::npos) throw std::logic_error("the record is not in the file");
    return static_cast<std::int64_t>(position) / page_size_ * page_size_;
  }
  /// The first key on the damaged page.
  [[nodiscard]] std::string damaged_key() const { return old_key(*damaged_.begin()); }
  [[nodiscard]] record_id damaged_id() const { return claim_of(damaged_key()).id; }
  static resolution forced(const record_id& id, bool completed) {
    resolution request;
    request.id = id;
    request.completed = completed;
    request.force = true;
    if (completed) request.answer = answer_of("by hand");
    return request;
  }

  /// Claims damaged keys among many new keys: every new key runs and can be settled.
  void expect_others_served(errc expected) {
    for (int round = 0; round < 3; ++round) {
      std::vector<claim> batch;
      for (int i = 0; i < 300; ++i) {
        batch.push_back(claim_of("new " + std::to_string(round * 1'000 + i)));
        if (i % 10 == 0)
          batch.push_back(claim_of(old_key(*std::next(damaged_.begin(), i / 10 % 5))));
      }
      const auto reply = caller_->claims(batch);
      std::vector<settlement> settles;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (batch[i].about->key.starts_with("old")) {
          ASSERT_FALSE(reply[i]);
          EXPECT_EQ(reply[i].error().code, expected);
          EXPECT_EQ(reply[i].error().effect, effect::none);
          settles.push_back(settle_of(batch[i], lease()));
          continue;
        }
        ASSERT_TRUE(reply[i]) << reply[i].error().detail;
        EXPECT_EQ(reply[i]->kind, verdict_kind::run);
        settles.push_back(settle_of(batch[i], reply[i]->lease));
      }
      const auto settled = caller_->settles(settles);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const bool damaged = batch[i].about->key.starts_with("old");
        EXPECT_EQ(settled[i].has_value(), !damaged) << batch[i].about->key;
      }
    }
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(caller_->claim(claim_of("new " + std::to_string(i))).kind, verdict_kind::replay);
    }
  }

  temporary_folder folder_;
  const std::string path_ = folder_.file("store.db");
  base::manual_clock clock_;
  fault_vfs faults_;
  std::unique_ptr<sqlite_store> store_;
  std::optional<blocking_store> caller_;
  std::int64_t page_size_ = 0;
  std::set<int> damaged_;
};

TEST_F(sqlite_damage_test, a_damaged_page_fails_no_other_claim_in_the_batch) {
  damage();
  expect_others_served(errc::record_unreadable);
}

TEST_F(sqlite_damage_test, an_unreadable_sector_fails_no_other_claim_in_the_batch) {
  take_sector();
  expect_others_served(errc::store_unreachable);
  // Nothing is lost once the disk can read the sector again.
  faults_.bad_sector(-1);
  clock_.advance(second);
  const auto served = [&] { return caller_->try_claim(claim_of(damaged_key())).has_value(); };
  wait_until("the record to be read again", served);
  EXPECT_EQ(caller_->claim(claim_of(damaged_key())).kind, verdict_kind::replay);
}

TEST_F(sqlite_damage_test, records_on_a_damaged_page_are_listed_and_counted_by_the_index) {
  damage();
  std::set<record_id> expected;
  for (const int each : damaged_) expected.insert(claim_of(old_key(each)).id);
  std::set<record_id> unreadable;
  std::size_t readable = 0;
  std::string cursor;
  do {
    const auto page = caller_->list({}, cursor, 40);
    for (const auto& each : page.unreadable) EXPECT_TRUE(unreadable.insert(each.id).second);
    readable += page.records.size();
    cursor = page.cursor;
  } while (!cursor.empty());
  EXPECT_EQ(unreadable, expected);
  EXPECT_EQ(readable, records - expected.size());
  const auto counted = caller_->counts_of_all();
  EXPECT_EQ(counted.unreadable, expected.size());
  EXPECT_EQ(counted.by_state[static_cast<std::size_t>(observed_state::completed)], readable);
}

TEST_F(sqlite_damage_test, a_record_on_a_damaged_page_is_replaced_only_by_force) {
  damage();
  auto request = forced(damaged_id(), true);
  request.force = false;
  EXPECT_EQ(caller_->try_resolve(request).error().code, errc::record_unreadable);
  request.force = true;
  EXPECT_EQ(caller_->resolve(request).outcome, resolve_outcome::done);
  EXPECT_EQ(caller_->claim(claim_of(damaged_key())).answer->body, "by hand");
  EXPECT_EQ(caller_->find(request.id)->state, observed_state::completed);
  const auto page = caller_->list({}, {}, 1'000);
  EXPECT_EQ(page.unreadable.size(), damaged_.size() - 1);
  EXPECT_EQ(page.records.size(), records - damaged_.size() + 1);
  // The record can be resolved by force once more, and its key runs again after that.
  EXPECT_EQ(caller_->resolve(forced(request.id, false)).outcome, resolve_outcome::done);
  const auto question = claim_of(damaged_key(), "another request");
  caller_->completed(question);
  EXPECT_EQ(caller_->claim(repeat_of(question)).kind, verdict_kind::replay);
  EXPECT_EQ(caller_->list({}, {}, 1'000).unreadable.size(), damaged_.size() - 1);
}

TEST_F(sqlite_damage_test, a_boot_is_recorded_even_if_its_first_claim_is_damaged) {
  damage();
  store_->stop();
  clock_.reboot("boot-2");
  open();
  const std::vector<claim> batch = {claim_of(damaged_key()), claim_of("new")};
  const auto reply = caller_->claims(batch);
  ASSERT_FALSE(reply[0]);
  ASSERT_TRUE(reply[1]);
  store_->stop();
  // By the clock of the next boot alone, the lease of `new` would still run.
  clock_.reboot("boot-3");
  open();
  EXPECT_EQ(caller_->claim(claim_of("new")).kind, verdict_kind::unknown);
}

TEST_F(sqlite_damage_test, a_damaged_page_does_not_stop_the_sweep) {
  damage();
  clock_.advance(day);
  // A few records beside the damaged page may have to stay as well, because SQLite keeps pages
  // filled.
  const auto others = records - damaged_.size();
  EXPECT_EQ(caller_->sweep(100), 100u);
  const auto gone = 100 + caller_->sweep(10'000);
  EXPECT_GE(gone + 30, others);
  EXPECT_LE(gone, others);
  EXPECT_EQ(caller_->sweep(10'000), 0u);
  EXPECT_EQ(caller_->counts_of_all().unreadable, damaged_.size());
  EXPECT_EQ(caller_->try_claim(claim_of(damaged_key())).error().code, errc::record_unreadable);
}

TEST_F(sqlite_damage_test, a_sweep_past_a_damaged_page_keeps_what_it_can_not_read) {
  auto running = claim_of("running");
  running.unknown_retention = day;
  caller_->leased(running);
  store_->stop();
  store_.reset();
  connection(path_, nullptr)
      .run(("UPDATE records SET record = CAST(substr(record, 1, 20) || "
            "CASE substr(record, 21, 1) WHEN x'7f' THEN x'00' ELSE x'7f' END || "
            "substr(record, 22) AS BLOB) WHERE digest = x'" +
            base::to_hex(running.id) + "'")
               .c_str());
  open();
  damage();
  clock_.advance(lease_length + day);
  EXPECT_GT(caller_->sweep(10'000), 0u);
  EXPECT_EQ(caller_->try_claim(claim_of("running")).error().code, errc::record_unreadable);
  EXPECT_EQ(caller_->counts_of_all().unreadable, damaged_.size() + 1);
}

TEST_F(sqlite_damage_test, a_damaged_newest_page_still_allows_settles_on_other_pages) {
  const auto early = claim_of("early");
  const auto held = caller_->leased(early);
  constexpr int later = 40;
  for (int i = 1; i <= later; ++i) caller_->completed(claim_of("later " + std::to_string(i)));
  overwrite_page_of(records + 1 + later);
  // No new record can be written, and the error says so. Records on other pages can be settled.
  EXPECT_EQ(caller_->try_claim(claim_of("new")).error().code, errc::record_unreadable);
  EXPECT_EQ(caller_->settle(settle_of(early, held)).outcome, settle_outcome::done);
  EXPECT_EQ(caller_->claim(claim_of("early")).kind, verdict_kind::replay);
  EXPECT_EQ(caller_->claim(claim_of(old_key(1))).kind, verdict_kind::replay);
}

TEST(sqlite_log, that_can_not_be_read_has_no_end_there) {
  const temporary_folder folder;
  const sqlite::log_position nothing_read;
  EXPECT_FALSE(sqlite::has_damaged_frames(folder.file("none-wal"), nothing_read));
  // A folder can be opened, and each read of it fails.
  EXPECT_THROW(static_cast<void>(sqlite::has_damaged_frames(folder.path(), nothing_read)),
               sqlite::failure);
}

}  // namespace
}  // namespace onceguard::testing
