// One attempt over Boost.Beast.
#pragma once
#include <boost/asio/awaitable.hpp>

#include <onceguard/client.hpp>

namespace onceguard::client {
inline namespace v1 {

/// On an executor that runs one handler at a time. The arguments must outlive it. A cancellation
/// ends it with a fault.
[[nodiscard]] boost::asio::awaitable<attempt> attempt_once(const request& sent,
                                                           const transport_params& params,
                                                           milliseconds timeout);

}  // namespace v1
}  // namespace onceguard::client
