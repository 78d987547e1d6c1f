// Acts for the fault suites of the stores that have a server: claims and settles while the server
// breaks, hangs or crashes.
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
#include "store/contract/acts.hpp"
#include "support/scale.hpp"
#include "support/tcp_gate.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

/// No fault of a test lasts this long.
inline constexpr std::chrono::minutes longest_fault{2};

/// Repeats the claim until its outcome is known. Repeats are safe, since the claim id stays the
/// same.
inline result<verdict> claim_until_known(blocking_store& caller, const claim& request) {
  for (const auto end = base::boot_now() + longest_fault;;) {
    auto reply = caller.try_claim(request);
    if (reply || !reply.error().retryable() || base::boot_now() > end) return reply;
    // The store has lost its memory: claims are granted again only after the caller has polled the
    // vitals.
    if (reply.error().code == errc::store_lost) static_cast<void>(caller.try_vitals());
  }
}

/// A new lease, even if the store has lost its memory meanwhile.
inline lease leased_until_known(blocking_store& caller, const claim& request) {
  const auto reply = claim_until_known(caller, request);
  if (!reply) throw std::runtime_error(reply.error().detail);
  EXPECT_EQ(reply->kind, verdict_kind::run);
  return reply->lease;
}

inline void expect_verdict(blocking_store& caller, const claim& request, verdict_kind kind) {
  const auto reply = claim_until_known(caller, request);
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->kind, kind);
}

inline result<settled> settle_until_known(blocking_store& caller, const settlement& request) {
  for (const auto end = base::boot_now() + longest_fault;;) {
    auto reply = std::move(caller.settles({request}).at(0));
    if (reply || !reply.error().retryable() || base::boot_now() > end) return reply;
  }
}

/// Takes one key from its claim to its replay, while the connection may break.
inline void expect_one_run(blocking_store& caller, const std::string& key) {
  const auto request = claim_of(key);
  const auto reply = claim_until_known(caller, request);
  ASSERT_TRUE(reply) << reply.error().detail;
  ASSERT_EQ(reply->kind, verdict_kind::run) << key;
  EXPECT_EQ(reply->lease.attempt, 1u);
  const auto ended = settle_until_known(caller, settle_of(request, reply->lease));
  ASSERT_TRUE(ended) << ended.error().detail;
  EXPECT_EQ(ended->outcome, settle_outcome::done);
  expect_verdict(caller, claim_of(key), verdict_kind::replay);
}

/// The server takes the claim, and does not answer within the timeout. One that was not sent in
/// time, on a busy machine, had no effect and comes again.
inline void expect_in_doubt(blocking_store& caller, const claim& request, milliseconds timeout) {
  wait_until("a claim in doubt", [&] {
    const auto begun = base::boot_now();
    const auto verdict = caller.try_claim(request, timeout);
    EXPECT_LT(base::boot_now() - begun, timeout + std::chrono::seconds(20)) << "it was not ended";
    if (verdict) {
      ADD_FAILURE() << "it was answered";
      return true;
    }
    EXPECT_EQ(verdict.error().code, errc::store_unreachable);
    return verdict.error().effect == effect::unknown;
  });
}

/// `caller` wraps a store with a timeout of one second on `server`.
template <class Server>
void expect_out_of_reach_while_it_hangs(blocking_store& caller, Server& server) {
  constexpr milliseconds timeout{1'000};
  expect_one_run(caller, "before");
  server.pause();
  const auto request = claim_of("k");
  expect_in_doubt(caller, request, timeout);
  // After all connections have been given up, later claims are not sent.
  for (;;) {
    const auto later = caller.try_claim(claim_of("later"), timeout);
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, errc::store_unreachable);
    if (later.error().effect == effect::none) break;
  }
  server.go_on();
  const auto after = claim_until_known(caller, request);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->kind, verdict_kind::run);
  EXPECT_EQ(after->lease.attempt, 1u);
}

/// An operator releases running keys while the connection breaks at one byte after the other of
/// what the server says: no reply says that nothing was done, or found, where it was done.
inline void expect_no_release_is_denied(blocking_store& caller, tcp_gate& gate) {
  bool cut = true;
  for (std::uint64_t byte = 0; cut; byte += scaled_step(11)) {
    const auto request = claim_of("release " + std::to_string(byte));
    leased_until_known(caller, request);
    resolution release;
    release.id = request.id;
    release.force = true;
    gate.cut_after(direction::to_client, byte);
    const auto reply = caller.try_resolve(release);
    cut = !gate.armed();
    gate.disarm();
    if (reply) {
      EXPECT_EQ(reply->outcome, resolve_outcome::done) << byte;
    } else if (reply.error().effect == effect::none) {
      wait_until("the record", [&] { return caller.try_find(request.id).has_value(); });
      EXPECT_EQ(caller.seen(request.id).state, observed_state::in_progress) << byte;
    }
  }
}

/// Expects `runs` records, each of them completed by one run.
inline void expect_each_once(blocking_store& caller, std::size_t runs) {
  const auto page = caller.list({}, {}, 1'000'000);
  EXPECT_EQ(page.records.size(), runs);
  for (const auto& each : page.records) {
    EXPECT_EQ(each.stored.attempt, 1u);
    EXPECT_FALSE(each.stored.incident);
    EXPECT_EQ(each.state, observed_state::completed);
  }
}

/// Claims and completes fresh keys from `callers` threads, with four crashes in between: one each
/// time that `step` more keys were completed. Expects that each key ran once and that all keys are
/// completed. Returns how many keys ran.
template <class Crash>
std::size_t run_across_crashes(store& tested, int callers, int step, Crash crash_and_start) {
  std::atomic<bool> over{false};
  std::atomic<int> completed{0};
  std::mutex counting;
  std::map<std::string, int> runs;
  std::vector<std::thread> threads;
  for (int t = 0; t < callers; ++t) {
    threads.emplace_back([&, t] {
      blocking_store own(tested);
      for (int i = 0; !over; ++i) {
        const auto request = claim_of(std::to_string(t) + "-" + std::to_string(i));
        const auto reply = claim_until_known(own, request);
        if (!reply || reply->kind != verdict_kind::run) continue;
        {
          const std::lock_guard lock(counting);
          ++runs[request.about->key];
        }
        const auto ended = settle_until_known(own, settle_of(request, reply->lease));
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
