// The scenes of the demo. Each scene uses different orders, so that the shop's counts don't mix.
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

/// Median times in milliseconds of requests to a shop that answers without delay.
struct overhead {
  double straight = 0;  ///< directly to the shop
  double first = 0;     ///< through the gateway, each request with a new key
  double repeat = 0;    ///< through the gateway, all requests with one key
  [[nodiscard]] double added() const noexcept { return first - straight; }
};
asio::awaitable<overhead> measure_overhead(shop& cards, guard& limit);

}  // namespace onceguard::cli::demo
