// Finds out whether a write-ahead log has transactions behind a damaged frame. SQLite takes such a
// log for one that ends before the damage, and says nothing.
#pragma once
#include <cstdint>
#include <string>

namespace onceguard::sqlite {

/// `frames`: the length of the log as SQLite read it. True only if a committed transaction, with
/// another one behind it, certainly follows. A last transaction that a crash left incomplete, and
/// the remains of transactions that failed, are no damage.
[[nodiscard]] bool has_damaged_frames(const std::string& log, std::uint32_t frames);

/// Says what to do about such a log.
[[nodiscard]] std::string damaged_log(const std::string& path);

}  // namespace onceguard::sqlite
