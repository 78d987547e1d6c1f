// The parameters of the Redis store.
#pragma once
#include <cstddef>
#include <string>

#include <onceguard/record.hpp>

#include "base/clock.hpp"

namespace onceguard::redis {

struct redis_params {
  std::string url;              ///< see address.hpp; may contain a password, so it is never printed
  milliseconds timeout{2'000};  ///< bounds the opening, each try to connect, each reply
  const base::clock* clock = &base::system_clock();
  /// The store holds copies that may be lost at any time: the server may evict keys, and losses are
  /// not reported.
  bool copies_only = false;
  std::size_t under_way_max = 1024;  ///< commands of one connection that wait for their reply
};

}  // namespace onceguard::redis
