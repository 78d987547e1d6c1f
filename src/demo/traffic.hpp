// What goes on between shop and customers after the scenes: for whoever looks at the page.
#pragma once
#include "demo/guard.hpp"
#include "demo/shop.hpp"

namespace onceguard::demo {

/// Customers pay, repeat, hurry and err, until the io_context ends: all kinds of answers come, and
/// from time to time an outcome is unknown, up to `unknown_max` of them.
asio::awaitable<void> pay_for_ever(shop& cards, guard& limit);
inline constexpr std::size_t unknown_max = 12;

}  // namespace onceguard::demo
