// Which records have long answers: their claims take memory before the store is asked.
#pragma once
#include <cstddef>
#include <cstdint>

#include <onceguard/record.hpp>

#include "base/recent_table.hpp"

namespace onceguard::serve {

/// From here on a message is long: it is worth a look whether anybody waits for it.
inline constexpr std::size_t long_message = 64u << 10;

/// The latest ones. Thread-safe.
class long_answers {
 public:
  /// The record has an answer of so many bytes.
  void note(const record_id& id, std::size_t bytes);
  /// The bytes of its answer; 0: none is known to be long.
  [[nodiscard]] std::size_t bytes_of(const record_id& id) const;

 private:
  base::recent_table<std::uint64_t> known_{8'192};
};

}  // namespace onceguard::serve
