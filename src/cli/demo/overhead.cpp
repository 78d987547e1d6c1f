#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <boost/asio/this_coro.hpp>

#include "cli/demo/scenes.hpp"

namespace onceguard::cli::demo {
namespace {

constexpr int rounds = 51;
constexpr int warm_up = 5;  // fills connections, caches and the store's first pages

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The median over one kept-alive connection. Each request has a new key, or all have the same key.
asio::awaitable<double> measure(gateway::endpoint endpoint, std::string key, bool new_keys) {
  line client(co_await asio::this_coro::executor);
  if (!co_await client.open(endpoint))
    throw std::runtime_error("nobody listens at " + text_of(endpoint));
  std::vector<double> taken;
  for (int i = 0; i < warm_up + rounds; ++i) {
    const payment payment("ada", "H-1", 100, new_keys ? key + std::to_string(i) : key);
    const auto begin = std::chrono::steady_clock::now();
    const bool sent = co_await client.send(payment);
    const auto got = co_await client.receive();
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    if (!sent || got.status() != 201) throw std::runtime_error("measured " + got.in_words());
    if (i >= warm_up) taken.push_back(passed.count());
  }
  co_return median(std::move(taken));
}

}  // namespace

asio::awaitable<overhead> measure_overhead(shop& cards, guard& limit) {
  cards.take(std::chrono::milliseconds(0));
  overhead found;
  found.straight = co_await measure(cards.address(), "straight-", true);
  found.first = co_await measure(limit.address(), "first-", true);
  found.repeat = co_await measure(limit.address(), "repeat", false);
  cards.take(std::chrono::milliseconds(30));
  co_return found;
}

}  // namespace onceguard::cli::demo
