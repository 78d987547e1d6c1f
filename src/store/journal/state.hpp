// What a journal knows beside its records: identity, counters, clocks. Each commit has all of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

#include "store/wall_guard.hpp"

namespace onceguard::journal {

struct journal_state {
  token last_token = 0;
  std::uint64_t granted = 0;        ///< leases granted so far: the store's generation
  std::uint64_t forgotten = 0;      ///< completed records that operators released
  std::uint64_t next_number = 1;    ///< of the next new record
  std::uint32_t first_segment = 1;  ///< those before it may be gone
  std::int64_t last_wall = 0;       ///< the retention clock when this was written
  std::uint32_t boot = 0;           ///< counts the boots of the machine that the journal has seen
  std::string boot_id;              ///< of that boot
  wall_memory wall;
};

[[nodiscard]] std::string encode(const journal_state& state);
/// None: the bytes are no state.
[[nodiscard]] std::optional<journal_state> decode_state(std::string_view bytes);

}  // namespace onceguard::journal
