// The index of the write-ahead log, which SQLite keeps in shared memory (`-shm`): how far the log
// was read, and how much of it counts as moved into the file.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/location.hpp"

namespace onceguard::sqlite {

/// How far SQLite read the log.
struct log_position {
  std::uint32_t frames = 0;              ///< that count; 0: none
  std::array<unsigned char, 8> salts{};  ///< of the log that they are in
  friend bool operator==(const log_position&, const log_position&) = default;
};

/// None if the index can't be mapped. The connection must have read or written before.
[[nodiscard]] std::optional<log_position> position_of(connection& connection) noexcept;

/// True: all of the write-ahead log is in the file, so the next commit may restart the log. Also
/// true if the state is not known. The connection must have read or written before.
[[nodiscard]] bool all_moved(connection& connection) noexcept;
/// The same; none if the state is not known, as the WAL index can't be mapped.
[[nodiscard]] std::optional<bool> all_moved_if_known(connection& connection) noexcept;

/// How many frames count as moved: readers take these pages from the file, the next checkpoint
/// leaves them out, and once that is all of them, the log restarts. 0 if the state is not known.
[[nodiscard]] std::uint32_t moved_frames(connection& connection) noexcept;

/// Of the log with these salts, as many frames count as moved from now on as `after`. Nothing is
/// changed unless it is that log still, `before` frames count until now (or more, where the number
/// grows), and some are left to move: as long as that is so, the log can't restart. Both numbers
/// must be those of checkpoints: the file has these frames, and no reader needs what they replaced.
/// For the holder of the turn.
void count_as_moved(connection& connection, const log_position& log, std::uint32_t before,
                    std::uint32_t after) noexcept;

/// Does this connection use the WAL index of that name? All connections of a process share one
/// index, also after its file was removed. True if the system does not tell.
[[nodiscard]] bool index_is(connection& connection, const file_mark& index);

}  // namespace onceguard::sqlite
