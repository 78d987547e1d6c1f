// What the Redis store is opened with.
#pragma once
#include <cstddef>
#include <string>

#include <onceguard/record.hpp>

#include "base/clock.hpp"

namespace onceguard::redis {

struct redis_params {
  std::string url;              ///< address.hpp; may hold a password, so it is never said
  milliseconds timeout{2'000};  ///< bounds the opening, each try to connect, each reply
  const base::clock* clock = &base::system_clock();
  /// It holds copies that may go at any time: the server may evict, and what it loses is not told.
  bool copies_only = false;
  std::size_t under_way_max = 1024;  ///< commands of one connection that wait for their reply
};

}  // namespace onceguard::redis
