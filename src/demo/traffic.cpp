#include "demo/traffic.hpp"

#include <array>
#include <chrono>
#include <string>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "demo/client.hpp"
#include "demo/wire.hpp"

namespace onceguard::demo {
namespace {

constexpr std::chrono::milliseconds between_orders{150};
constexpr std::array<const char*, 5> customers{"ada", "grace", "alan", "edsger", "barbara"};

struct order_number {
  std::size_t value = 0;
  /// Every so many orders, at a position of its own among them.
  [[nodiscard]] bool each(std::size_t interval, std::size_t position) const {
    return value % interval == position;
  }
};

payment make_payment(order_number number) {
  const auto name = "order-" + std::to_string(1'000 + number.value);
  return {customers[number.value % customers.size()], name,
          static_cast<int>(500 + number.value * 37 % 9'000), name};
}

/// The card is charged, and the answer is lost between shop and gateway.
asio::awaitable<void> lose_outcome(shop& cards, const guard& limit, const payment& wanted) {
  cards.lose_answers(true);  // the next is lost
  co_await pay(limit.address(), wanted);
  cards.lose_answers(false);
}

asio::awaitable<void> pay_one(shop& cards, const guard& limit, order_number number) {
  const auto wanted = make_payment(number);
  // The first come soon, so that who opens the page finds some.
  const auto unknown_before = number.value / 40;
  if (number.each(40, 3) && unknown_before < unknown_max) {
    co_await lose_outcome(cards, limit, wanted);
    co_await pay(limit.address(), wanted);
    co_return;
  }
  if (number.each(9, 4)) {
    co_await pay_at_once(limit.address(), wanted, 3);
  } else if (number.each(7, 2)) {
    co_await pay_and_lose_answer(limit.address(), wanted);
    co_await pay(limit.address(), wanted);
  } else {
    co_await pay(limit.address(), wanted);
  }
  if (number.each(3, 1)) co_await pay(limit.address(), wanted);
  if (number.each(11, 5)) {
    auto other = wanted;
    other.amount += 100;
    co_await pay(limit.address(), other);
  }
}

}  // namespace

asio::awaitable<void> pay_for_ever(shop& cards, guard& limit) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (order_number number;; ++number.value) {
    co_await pay_one(cards, limit, number);
    timer.expires_after(between_orders);
    co_await timer.async_wait(quietly);
  }
}

}  // namespace onceguard::demo
