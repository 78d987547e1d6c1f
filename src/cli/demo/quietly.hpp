// A completion token for awaiting socket operations that returns an error as a value.
#pragma once
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard::cli::demo {

inline constexpr auto quietly = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace onceguard::cli::demo
