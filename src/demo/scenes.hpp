// The scenes of the demo. Each scene uses different orders, so that the shop's counts don't mix.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "demo/client.hpp"
#include "demo/guard.hpp"
#include "demo/shop.hpp"

namespace onceguard::demo {

// One scene of the demo: the results without Onceguard and with it, and whether they were right.

/// The results of one way of playing a scene.
struct telling {
  std::size_t charges = 0;  ///< as counted by the shop
  std::size_t charges_expected = 0;
  std::vector<std::string> seen;  ///< the client's replies, in order
};

struct scene {
  explicit scene(std::string its_title) : title(std::move(its_title)) {}

  std::string title;
  telling unguarded;
  telling guarded;
  std::vector<std::string> notes;   ///< further lines for a person
  std::vector<std::string> faults;  ///< deviations from the expected results

  /// Adds the fault unless `holds`.
  void expect(bool holds, std::string description) {
    if (!holds) faults.push_back(std::move(description));
  }
  /// Stores both counts, which are the point of the demo, and adds a fault if they differ.
  void charged(telling& style, std::size_t count_by_text, std::size_t expected);
  [[nodiscard]] bool right() const noexcept { return faults.empty(); }
};

/// Adds the client's reply to `style`, and returns the reply.
reply saw(telling& style, reply got);

/// "1 × 201", "49 × 409 in-progress" …, in the order of the first occurrence.
[[nodiscard]] std::vector<std::string> count_by_text(const std::vector<reply>& replies);

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

}  // namespace onceguard::demo
