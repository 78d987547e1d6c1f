// What the accelerator did, since the start. Never a key or a scope among them.
#pragma once
#include <atomic>
#include <cstdint>

namespace onceguard::tiered {

struct tiered_counters {
  std::atomic<std::uint64_t> replays{0};          ///< answers that the accelerator gave
  std::atomic<std::uint64_t> busy{0};             ///< duplicates that it turned away
  std::atomic<std::uint64_t> claims_of_truth{0};  ///< claims that went on to the truth
  std::atomic<std::uint64_t> copied{0};           ///< answers that were put into it
  std::atomic<std::uint64_t> failures{0};         ///< calls of it that failed
  std::atomic<std::uint64_t> outages{0};          ///< how often the breaker opened
  std::atomic<std::uint64_t> epochs{0};           ///< how often this process ended an epoch
};

}  // namespace onceguard::tiered
