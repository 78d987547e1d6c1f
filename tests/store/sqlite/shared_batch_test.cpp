// Callers whose calls share a transaction: what no new record finds room for fails nothing else.
#include <fstream>

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::sqlite_params;
using sqlite::sqlite_store;

class sqlite_shared_batch_test : public ::testing::Test {
 protected:
  void open(int page_count_max = 0) {
    sqlite_params params;
    params.path = path_;
    params.page_count_max = page_count_max;
    params.clock = &clock_;
    auto opened = sqlite_store::open(params);
    ASSERT_TRUE(opened) << opened.error().detail;
    store_ = std::move(*opened);
    caller_.emplace(*store_);
  }
  void overwrite_newest_page() {
    store_->stop();
    store_.reset();
    sqlite::connection file(path_, nullptr);
    file.run("PRAGMA wal_checkpoint(TRUNCATE)");
    const auto page = file.integer("PRAGMA page_size");
    const auto newest = file.text("SELECT record FROM records ORDER BY id DESC LIMIT 1");
    std::fstream raw(path_, std::ios::in | std::ios::out | std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(raw)), {});
    const auto position = all.find(newest);
    ASSERT_NE(position, std::string::npos);
    raw.seekp(static_cast<std::int64_t>(position) / page * page);
    raw << std::string(static_cast<std::size_t>(page), 'x');
    raw.close();
    open();
  }

  /// Each claim by a caller of its own, all of them at once: they share a transaction.
  std::vector<result<verdict>> claims_at_once(const std::vector<claim>& wanted) {
    boost::asio::io_context io;
    std::vector<result<verdict>> out(wanted.size(), error(errc::stopped, "no reply came"));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto reply = store_->claim({wanted[i]}, milliseconds(5'000));
      const auto keep = [&out, i](std::exception_ptr, std::vector<result<verdict>> replies) {
        if (!replies.empty()) out[i] = std::move(replies.front());
      };
      boost::asio::co_spawn(io, std::move(reply), keep);
    }
    io.run();
    return out;
  }

  temporary_folder folder_;
  const std::string path_ = folder_.file("store.db");
  base::manual_clock clock_;
  std::unique_ptr<sqlite_store> store_;
  std::optional<blocking_store> caller_;
};

/// The file's newest table page is overwritten: no new record can be written.
TEST_F(sqlite_shared_batch_test, a_new_record_that_fits_nowhere_fails_alone) {
  open();
  std::vector<claim> old;
  for (int i = 0; i < 4; ++i) {
    old.push_back(claim_of("old " + std::to_string(i)));
    auto freed = settle_of(old.back(), caller_->leased(old.back()), settle_kind::release);
    EXPECT_EQ(caller_->settle(freed).outcome, settle_outcome::done);
  }
  for (int i = 0; i < 300; ++i) caller_->completed(claim_of("later " + std::to_string(i)));
  overwrite_newest_page();
  std::vector<claim> batch;
  for (int i = 0; i < 4; ++i) {
    batch.push_back(claim_of("new " + std::to_string(i)));
    batch.push_back(claim_of("old " + std::to_string(i)));
  }
  const auto replies = claims_at_once(batch);
  for (std::size_t i = 0; i < batch.size(); i += 2) {
    ASSERT_FALSE(replies[i]);
    EXPECT_EQ(replies[i].error().code, errc::record_unreadable);
    EXPECT_EQ(replies[i].error().effect, effect::none);
    ASSERT_TRUE(replies[i + 1]) << replies[i + 1].error().detail;
    EXPECT_EQ(replies[i + 1]->kind, verdict_kind::run);
    const auto done = caller_->settle(settle_of(batch[i + 1], replies[i + 1]->lease));
    EXPECT_EQ(done.outcome, settle_outcome::done);
  }
}

TEST_F(sqlite_shared_batch_test, a_replay_is_answered_beside_claims_that_find_the_file_full) {
  constexpr int pages = 40;
  open(pages);
  const auto old = claim_of("old");
  caller_->completed(old);
  int filling = 0;
  while (caller_->try_claim(claim_of("filling " + std::to_string(filling)))) ++filling;
  std::vector<claim> batch(4, claim_of("old"));
  for (int i = 0; i < 4; ++i) batch.insert(batch.begin(), claim_of("new " + std::to_string(i)));
  const auto replies = claims_at_once(batch);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_FALSE(replies[i]);
    EXPECT_EQ(replies[i].error().code, errc::store_full);
    EXPECT_EQ(replies[i].error().effect, effect::none);
    ASSERT_TRUE(replies[i + 4]) << replies[i + 4].error().detail;
    EXPECT_EQ(replies[i + 4]->kind, verdict_kind::replay);
  }
}

}  // namespace
}  // namespace onceguard::testing
