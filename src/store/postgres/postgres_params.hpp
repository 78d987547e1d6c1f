// The parameters of the PostgreSQL store.
#pragma once
#include <cstddef>
#include <string>

#include <onceguard/record.hpp>

#include "base/clock.hpp"

namespace onceguard::postgres {

struct postgres_params {
  std::string url;  ///< as libpq reads it; may contain a password, so it is never printed
  milliseconds timeout{2'000};  ///< bounds the opening, each try to connect, each statement
  const base::clock* clock = &base::system_clock();
  std::size_t connections = 4;
  std::size_t batch_max = 256;         ///< items of one statement …
  std::size_t batch_bytes = 16 << 20;  ///< … and about how many bytes of answers
};

}  // namespace onceguard::postgres
