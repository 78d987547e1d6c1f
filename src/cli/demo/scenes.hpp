// What the demo plays. Each scene uses orders of its own, so that the shop's counts are its own.
#pragma once
#include "cli/demo/guard.hpp"
#include "cli/demo/scene.hpp"
#include "cli/demo/shop.hpp"

namespace onceguard::cli::demo {

asio::awaitable<scene> lost_answer(shop& cards, guard& limit);
asio::awaitable<scene> fifty_at_once(shop& cards, guard& limit);
asio::awaitable<scene> another_amount(shop& cards, guard& limit);
asio::awaitable<scene> two_customers(shop& cards, guard& limit);
asio::awaitable<scene> shop_down(shop& cards, guard& limit);
asio::awaitable<scene> shop_loses_answers(shop& cards, guard& limit);
asio::awaitable<scene> gateway_killed(shop& cards, guard& limit);

/// Medians, in milliseconds, of requests to a shop that takes no time.
struct overhead {
  double straight = 0;  ///< straight to the shop
  double first = 0;     ///< through the gateway, each with a new key
  double repeat = 0;    ///< through the gateway, one key again and again
  [[nodiscard]] double added() const noexcept { return first - straight; }
};
asio::awaitable<overhead> measure_overhead(shop& cards, guard& limit);

}  // namespace onceguard::cli::demo
