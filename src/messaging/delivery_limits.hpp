// Whether a queue keeps a message for long enough, and delivers it often enough, for all attempts
// of an inbox: a broker that stops before drops it without a word.
#pragma once
#include <cstdint>
#include <string>

#include <onceguard/broker.hpp>
#include <onceguard/inbox.hpp>

namespace onceguard::messaging {

/// The sum of the back-offs between all attempts; saturates at a year.
[[nodiscard]] milliseconds sum_of_backoffs(const inbox_policy& policy);

/// What falls short, and what to set; empty: nothing does. `attempts` 0: nobody counts.
[[nodiscard]] std::string limit_fault(const consumer_traits& traits, std::uint32_t attempts,
                                      milliseconds backoffs);

}  // namespace onceguard::messaging
