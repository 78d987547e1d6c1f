// What a PostgreSQL store hears of the settles of others.
#include <algorithm>
#include <mutex>
#include <poll.h>
#include <vector>

#include "store/postgres_fixture.hpp"

namespace onceguard::testing {
namespace {

std::uint64_t prefix_of(const record_id& id) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 8; ++i) out = out << 8 | id[i];
  return out;
}

/// What was told so far, by the store's own thread.
class heard {
 public:
  settled_listener listener() {
    return [this](const std::vector<std::uint64_t>& settled) {
      const std::lock_guard lock(mutex_);
      all_.insert(all_.end(), settled.begin(), settled.end());
    };
  }
  bool has(const record_id& id) {
    const std::lock_guard lock(mutex_);
    return std::find(all_.begin(), all_.end(), prefix_of(id)) != all_.end();
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint64_t> all_;
};

class postgres_listening_test : public postgres_fixture {
 protected:
  /// Completes records at `at` until one of them is heard of: the link that listens need not be the
  /// first one that is ready.
  static void await_hearing(desk& at, heard& by, const std::string& key) {
    for (int i = 0;; ++i) {
      const auto asked = claim_of(key + std::to_string(i));
      at.completed(asked);
      for (int wait = 0; wait < 20 && !by.has(asked.id); ++wait) ::poll(nullptr, 0, 5);
      if (by.has(asked.id)) return;
      ASSERT_LT(i, 100) << "nothing is heard";
    }
  }
};

TEST_F(postgres_listening_test, every_kind_of_settle_is_told) {
  const auto one = open();
  const auto other = open();
  heard ears;
  other->on_settled(ears.listener());
  desk at(*one);
  await_hearing(at, ears, "first");
  for (const auto kind :
       {settle_kind::complete, settle_kind::fail, settle_kind::release, settle_kind::abandon}) {
    const auto asked = claim_of("kind " + std::to_string(static_cast<int>(kind)));
    auto how = settle_of(asked, at.leased(asked));
    how.kind = kind;
    at.settle(how);
    while (!ears.has(asked.id)) ::poll(nullptr, 0, 5);
  }
  other->on_settled(nullptr);
}

TEST_F(postgres_listening_test, one_listener_at_a_time) {
  const auto one = open();
  const auto other = open();
  heard before;
  heard after;
  other->on_settled(before.listener());
  desk at(*one);
  await_hearing(at, before, "before");
  other->on_settled(after.listener());
  const auto then = before.size();
  await_hearing(at, after, "after");
  EXPECT_EQ(before.size(), then);
  other->on_settled(nullptr);
  const auto last = after.size();
  at.completed(claim_of("for nobody"));
  // A question of the same link that listens goes and comes after the announcement.
  EXPECT_EQ(desk(*other).claim(claim_of("for nobody")).kind, verdict_kind::replay);
  EXPECT_EQ(after.size(), last);
}

TEST_F(postgres_listening_test, after_a_break_it_listens_again) {
  const auto one = open();
  const auto other = open();
  heard ears;
  other->on_settled(ears.listener());
  desk at(*one);
  await_hearing(at, ears, "before");
  database_.admin().run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE application_name = 'onceguard'");
  await_hearing(at, ears, "after");
  other->on_settled(nullptr);
}

}  // namespace
}  // namespace onceguard::testing
