// What the suites of faults do with every store that has a server: to claim and to settle while
// it breaks, hangs or crashes.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "store/acts.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

/// No fault of a test lasts so long.
inline constexpr std::chrono::minutes longest_fault{2};

/// Claims until it is known what became of it, as its nonce stays the same.
inline result<verdict> claim_until_known(desk& at, const claim& asked) {
  for (const auto end = base::boot_now() + longest_fault;;) {
    auto told = at.try_claim(asked);
    if (told || !told.error().retryable() || base::boot_now() > end) return told;
    // Another memory: nothing is granted before those who watch the store have taken note.
    if (told.error().code == errc::store_lost) static_cast<void>(at.try_vitals());
  }
}

/// A new lease, though the memory may be another one by now.
inline lease leased_until_known(desk& at, const claim& asked) {
  const auto told = claim_until_known(at, asked);
  if (!told) throw std::runtime_error(told.error().detail);
  EXPECT_EQ(told->kind, verdict_kind::run);
  return told->lease;
}

inline void expect_verdict(desk& at, const claim& asked, verdict_kind kind) {
  const auto told = claim_until_known(at, asked);
  ASSERT_TRUE(told) << told.error().detail;
  EXPECT_EQ(told->kind, kind);
}

inline result<settled> settle_until_known(desk& at, const settlement& how) {
  for (const auto end = base::boot_now() + longest_fault;;) {
    auto told = std::move(at.settles({how}).at(0));
    if (told || !told.error().retryable() || base::boot_now() > end) return told;
  }
}

/// One key from its claim to its replay, while the connection may break.
inline void expect_one_run(desk& at, const std::string& key) {
  const auto asked = claim_of(key);
  const auto told = claim_until_known(at, asked);
  ASSERT_TRUE(told) << told.error().detail;
  ASSERT_EQ(told->kind, verdict_kind::run) << key;
  EXPECT_EQ(told->lease.attempt, 1u);
  const auto ended = settle_until_known(at, settle_of(asked, told->lease));
  ASSERT_TRUE(ended) << ended.error().detail;
  EXPECT_EQ(ended->outcome, settle_outcome::done);
  expect_verdict(at, claim_of(key), verdict_kind::replay);
}

/// `at` is the desk of a store with a timeout of 400 ms on this server.
template <class Server>
void expect_out_of_reach_while_it_hangs(desk& at, Server& server) {
  constexpr milliseconds timeout{400};
  at.completed(claim_of("before"));
  server.pause();
  const auto asked = claim_of("k");
  const auto begun = base::boot_now();
  const auto told = at.try_claim(asked, timeout);
  EXPECT_LT(base::boot_now() - begun, std::chrono::seconds(2));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, errc::store_unreachable);
  EXPECT_EQ(told.error().effect, effect::unknown);
  // All connections have been given up: what comes now was not sent.
  for (;;) {
    const auto later = at.try_claim(claim_of("later"), timeout);
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, errc::store_unreachable);
    if (later.error().effect == effect::none) break;
  }
  server.go_on();
  const auto after = claim_until_known(at, asked);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->kind, verdict_kind::run);
  EXPECT_EQ(after->lease.attempt, 1u);
}

/// What every record is after it was run once.
inline void expect_each_once(desk& at, std::size_t runs) {
  const auto page = at.list({}, {}, 1'000'000);
  EXPECT_EQ(page.records.size(), runs);
  for (const auto& each : page.records) {
    EXPECT_EQ(each.stored.attempt, 1u);
    EXPECT_FALSE(each.stored.incident);
    EXPECT_EQ(each.state, observed_state::completed);
  }
}

/// Claims and completes fresh keys from `callers` threads, with four crashes in between, one each
/// time that `step` more were completed. How many keys ran: each once, and all are completed.
template <class Crash>
std::size_t run_across_crashes(store& tested, int callers, int step, Crash crash_and_start) {
  std::atomic<bool> over{false};
  std::atomic<int> completed{0};
  std::mutex counting;
  std::map<std::string, int> runs;
  std::vector<std::thread> threads;
  for (int t = 0; t < callers; ++t) {
    threads.emplace_back([&, t] {
      desk own(tested);
      for (int i = 0; !over; ++i) {
        const auto asked = claim_of(std::to_string(t) + "-" + std::to_string(i));
        const auto told = claim_until_known(own, asked);
        if (!told || told->kind != verdict_kind::run) continue;
        {
          const std::lock_guard lock(counting);
          ++runs[asked.about->key];
        }
        const auto ended = settle_until_known(own, settle_of(asked, told->lease));
        if (ended && ended->outcome == settle_outcome::done) ++completed;
      }
    });
  }
  const auto await_more = [&] {
    wait_until("more records", [&, before = int(completed)] { return completed >= before + step; });
  };
  const auto finish = [&] {
    over = true;
    for (auto& thread : threads) thread.join();
  };
  try {
    for (int crash = 0; crash < 4; ++crash) {
      await_more();
      crash_and_start();
    }
    await_more();
  } catch (...) {
    finish();
    throw;
  }
  finish();
  for (const auto& [key, count] : runs) EXPECT_EQ(count, 1) << key;
  EXPECT_EQ(static_cast<std::size_t>(completed), runs.size());
  return runs.size();
}

}  // namespace onceguard::testing
