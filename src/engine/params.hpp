// What an engine is told at its start.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include <onceguard/record.hpp>

namespace onceguard {

enum class after_loss_rule : std::uint8_t {
  refuse,  ///< no new claims until every lease and upstream timeout from before is over
  flag,    ///< go on; new runs are marked maybe-repeated
};

struct engine_params {
  milliseconds store_timeout{2'000};
  milliseconds settle_wait{10'000};
  milliseconds sweep_interval{60'000};
  std::size_t replay_cache = 16u << 20;
  std::size_t max_waiters = 10'000;
  milliseconds look_again{50};          ///< a waiter asks for a twin in another process this often
  std::size_t max_follow_ups = 10'000;  ///< claims of unknown fate that are being followed up
  after_loss_rule after_loss = after_loss_rule::refuse;
  std::string state_dir;            ///< where the witness of the store's identity is kept
  milliseconds loss_quiet{90'000};  ///< the longest lease and upstream timeout, added
  milliseconds longest_retention{24 * 3'600'000};
};

}  // namespace onceguard
