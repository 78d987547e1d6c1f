// The index by key: lists with it have what they have without it, whoever writes, and no query of a
// list or of one record passes the whole table.
#include "store/sqlite/key_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/record_queries.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::sqlite_params;
using sqlite::sqlite_store;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class sqlite_key_index_test : public ::testing::Test {
 protected:
  sqlite_key_index_test() { open(); }
  ~sqlite_key_index_test() override { store_->stop(); }

  void open() {
    auto opened = sqlite_store::open(params_);
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = std::move(*opened);
    caller_.emplace(*store_);
  }
  void index(bool drop = false) {
    const auto done = sqlite::index_keys(params_, drop);
    ASSERT_TRUE(done) << done.error().detail;
  }
  static claim claim_in(const std::string& kind, const std::string& key) {
    auto out = claim_of(key);
    auto about = std::make_shared<subject>(*out.about);
    about->scope_kind = kind;
    about->scope = make_scope_digest(kind, "acme");
    out.id = make_record_id(about->scope, key);
    out.about = std::move(about);
    return out;
  }
  /// The kinds of the scopes of the records with the key, from pages of this size.
  std::vector<std::string> found(const std::string& key, std::size_t limit = 100) {
    list_filter filter;
    filter.key = key;
    std::vector<std::string> out;
    std::string cursor;
    do {
      const auto page = caller_->list(filter, cursor, limit);
      for (const auto& seen : page.records) out.push_back(seen.stored.about->scope_kind);
      cursor = page.cursor;
    } while (!cursor.empty());
    return out;
  }
  sqlite::connection& file_on() {
    file_.emplace(params_.path, nullptr);
    return *file_;
  }
  sqlite_params params() {
    sqlite_params out;
    out.path = folder_.path() / "store.db";
    out.clock = &clock_;
    return out;
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  const sqlite_params params_ = params();
  std::unique_ptr<sqlite_store> store_;
  std::optional<blocking_store> caller_;
  std::optional<sqlite::connection> file_;
};

TEST_F(sqlite_key_index_test, finds_keys_of_every_length_in_every_scope) {
  std::vector<std::string> keys{std::string("a\0b", 3), "x' OR 1", "k", "k1", "k11"};
  for (const std::size_t size : {47u, 48u, 61u, 62u, 63u, 64u, 65u, 127u, 128u, 200u, 255u}) {
    keys.emplace_back(size, 'k');
    keys.push_back(std::string(size - 1, 'k') + 'l');  // alike as far as the index knows
  }
  const std::vector<std::string> kinds{"none", std::string(48, 'h'), std::string(127, 'h'),
                                       std::string(128, 'h'), std::string(130, 'h')};
  const auto claim_all = [&](std::size_t first) {
    for (std::size_t i = first; i < keys.size(); i += 2) {
      for (const auto& kind : kinds) caller_->completed(claim_in(kind, keys[i]));
    }
  };
  claim_all(0);
  index();
  claim_all(1);
  for (const auto& key : keys) {
    EXPECT_THAT(found(key), ::testing::UnorderedElementsAreArray(kinds)) << key;
    EXPECT_THAT(found(key, 1), SizeIs(kinds.size())) << key;
  }
  EXPECT_THAT(found("nobody"), IsEmpty());
}

TEST_F(sqlite_key_index_test, follows_what_becomes_of_a_record) {
  index();
  const auto request = claim_of("k");
  auto end = settle_of(request, caller_->leased(request), settle_kind::abandon);
  end.why = unknown_reason::upstream_status;
  end.why_status = 503;  // two bytes, before the key
  caller_->settle(end);
  EXPECT_THAT(found("k"), SizeIs(1));
  resolution free;
  free.id = request.id;
  caller_->resolve(free);
  EXPECT_THAT(found("k"), SizeIs(1));
  for (int i = 0; i < 130; ++i) {  // attempts of two bytes, which the index leaves out
    const auto again = claim_of("k");
    caller_->settle(settle_of(again, caller_->leased(again), settle_kind::release));
  }
  EXPECT_THAT(found("k"), SizeIs(1));
  const auto last = claim_of("k");
  caller_->completed(last);
  EXPECT_THAT(found("k"), SizeIs(1));
  clock_.advance(2 * day);
  EXPECT_THAT(found("k"), IsEmpty());
  EXPECT_EQ(caller_->sweep(), 1u);
  EXPECT_EQ(file_on().integer("SELECT count(*) FROM records"), 0);
}

TEST_F(sqlite_key_index_test, is_dropped_again_and_made_twice) {
  caller_->completed(claim_of("k"));
  for (const bool drop : {false, false, true, true}) {
    index(drop);
    EXPECT_EQ(sqlite::has_key_index(file_on()), !drop);
    EXPECT_THAT(found("k"), SizeIs(1));
  }
}

TEST_F(sqlite_key_index_test, goes_on_from_a_page_after_the_index_has_come_and_gone) {
  const std::vector<std::string> kinds{"a", "b", "c", "d"};
  for (const auto& kind : kinds) caller_->completed(claim_in(kind, "k"));
  list_filter filter;
  filter.key = "k";
  std::vector<std::string> seen;
  std::string cursor;
  for (const bool drop : {true, false, true, false}) {
    index(drop);
    const auto page = caller_->list(filter, cursor, 1);
    for (const auto& one : page.records) seen.push_back(one.stored.about->scope_kind);
    cursor = page.cursor;
  }
  EXPECT_EQ(seen, kinds);
}

TEST_F(sqlite_key_index_test, waits_for_another_writer_no_longer_than_the_timeout) {
  auto impatient = params_;
  impatient.timeout = milliseconds(50);
  auto& other = file_on();
  other.run("BEGIN IMMEDIATE");
  const auto done = sqlite::index_keys(impatient, false);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::store_unreachable);
  EXPECT_THAT(done.error().detail, HasSubstr("another process writes"));
  other.roll_back();
  auto missing = params_;
  missing.path += ".none";
  EXPECT_EQ(sqlite::index_keys(missing, false).error().code, errc::store_unreachable);
}

TEST_F(sqlite_key_index_test, of_an_earlier_version_is_left_alone_and_made_anew) {
  caller_->completed(claim_of("k"));
  file_on().run("CREATE INDEX records_by_key ON records (substr(record, 7, 3))");
  EXPECT_FALSE(sqlite::has_key_index(file_on()));
  EXPECT_THAT(found("k"), SizeIs(1));
  index();
  EXPECT_TRUE(sqlite::has_key_index(file_on()));
  EXPECT_THAT(found("k"), SizeIs(1));
}

/// Instructions of SQLite that a page of ten takes.
std::int64_t cost_of_page(sqlite::record_queries& queries, sqlite::connection& database,
                          const list_filter& filter, const std::string& cursor) {
  std::int64_t steps = 0;
  const auto count = [](void* counted) {
    ++*static_cast<std::int64_t*>(counted);
    return 0;
  };
  sqlite3_progress_handler(database.get(), 1, count, &steps);
  const auto page = queries.list(filter, cursor, 10);
  sqlite3_progress_handler(database.get(), 0, nullptr, nullptr);
  EXPECT_THAT(page.value().records, SizeIs(10));
  EXPECT_THAT(page.value().cursor, Not(IsEmpty()));
  return steps;
}

TEST_F(sqlite_key_index_test, a_page_of_very_many_like_keys_costs_a_page) {
  // Copies of two records: one that the index has by its key, and one whose key it can't have.
  for (const auto& kind : {std::string("none"), std::string(130, 'h')}) {
    caller_->completed(claim_in(kind, "k"));
  }
  index();
  auto opened = sqlite::session::open(params_, sqlite::session_use::read);
  ASSERT_TRUE(opened);
  auto& database = (*opened)->on();
  sqlite::record_queries queries(**opened);
  const auto copy = [&](int most) {
    file_on().run(("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                   std::to_string(most) +
                   ") INSERT INTO records (digest, state, expires_at, boot, record) "
                   "SELECT randomblob(32), state, expires_at, boot, record FROM n, "
                   "(SELECT * FROM records WHERE id <= 2)")
                      .c_str());
  };
  list_filter filter;
  filter.key = "k";
  copy(100);
  const auto of_few = cost_of_page(queries, database, filter, "");
  copy(50'000);
  EXPECT_LT(cost_of_page(queries, database, filter, ""), 2 * of_few);
  EXPECT_LT(cost_of_page(queries, database, filter, "90000"), 2 * of_few);
}

/// How SQLite carries out each statement that the connection has prepared.
std::string plans_of(sqlite::connection& database) {
  std::vector<std::string> texts;
  for (auto* one = sqlite3_next_stmt(database.get(), nullptr); one != nullptr;
       one = sqlite3_next_stmt(database.get(), one)) {
    texts.emplace_back(sqlite3_sql(one));
  }
  std::string out;
  for (const auto& text : texts) {
    auto plan = database.prepare("EXPLAIN QUERY PLAN " + text);
    while (plan.step()) out.append(plan.bytes(3)).append("\n");
  }
  return out;
}

TEST_F(sqlite_key_index_test, no_query_passes_the_whole_table) {
  for (int i = 0; i < 300; ++i) caller_->completed(claim_of(std::to_string(i)));
  index();
  auto opened = sqlite::session::open(params_, sqlite::session_use::read);
  ASSERT_TRUE(opened);
  (*opened)->on().run("PRAGMA query_only = OFF; ANALYZE");
  sqlite::record_queries queries(**opened);
  list_filter filter;
  filter.key = "7";
  EXPECT_EQ(queries.list(filter, "", 10).value().records.size(), 1u);
  const auto plans = plans_of((*opened)->on());
  EXPECT_THAT(plans, HasSubstr("SEARCH records USING INDEX records_by_key (<expr>=? AND rowid>?)"));
  EXPECT_THAT(plans, HasSubstr("MERGE (UNION ALL)"));
  EXPECT_THAT(plans, HasSubstr("SEARCH records USING INTEGER PRIMARY KEY (rowid>?)"));
  EXPECT_THAT(plans, HasSubstr("SEARCH records USING INDEX records_by_digest (digest=?)"));
  // Only a damaged page makes the index of digests be read as a whole.
  std::string without_that = plans;
  const std::string whole = "SCAN records USING COVERING INDEX records_by_digest\n";
  if (const auto found = without_that.find(whole); found != std::string::npos) {
    without_that.erase(found, whole.size());
  }
  EXPECT_THAT(without_that, Not(HasSubstr("SCAN records")));
}

}  // namespace
}  // namespace onceguard::testing
