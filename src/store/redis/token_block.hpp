// Tokens that a process reserves from a server's counter, many at a time, and grants by itself.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "store/redis/stored.hpp"

namespace onceguard::redis {

/// Belongs to the pool's thread and to one server: its tokens are not used on another server.
///
/// A later token of a key may have been given by another process meanwhile, and its record be gone.
/// But no record goes within `record_stays` of its last write. So a claim that was set is good if
/// the server's clock then says that the block is younger than that.
class token_block {
 public:
  using time = base::boot_clock::time_point;

  /// How many are taken at a time.
  static constexpr std::uint64_t size = 4'096;
  /// Tokens of this age are not used any more.
  static constexpr milliseconds age_max = record_stays / 2;

  /// The next token. Empty: a script must grant the token.
  [[nodiscard]] std::optional<token> take(time now) noexcept {
    in_use_ = true;
    if (next_ == end_ || now - asked_at_ >= age_max) return std::nullopt;
    return next_++;
  }
  /// When the block was reserved, in milliseconds of the server's clock.
  [[nodiscard]] std::int64_t taken_at() const noexcept { return taken_at_; }

  /// Whether more tokens are needed. True once, until they arrive.
  [[nodiscard]] bool ask_for_more(time now) noexcept {
    const bool enough = end_ - next_ >= size / 2 && now - asked_at_ < age_max / 2;
    if (!in_use_ || asking_ || enough) return false;
    return asking_ = true;
  }
  void refill(token first, std::int64_t taken_at, time asked_at) noexcept {
    next_ = first;
    end_ = first + size;
    taken_at_ = taken_at;
    asked_at_ = asked_at;
    in_use_ = asking_ = false;
  }
  /// Drops the tokens: a connection to the server was lost or its clock was set, so that the server
  /// may be another one.
  void drop() noexcept { *this = {}; }

 private:
  token next_ = 0;
  token end_ = 0;
  std::int64_t taken_at_ = 0;
  time asked_at_{};
  bool in_use_ = false;
  bool asking_ = false;
};

}  // namespace onceguard::redis
