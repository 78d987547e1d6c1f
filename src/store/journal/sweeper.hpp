// Removes what has outlived its retention, and the segments of which too little is needed.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <onceguard/error.hpp>

#include "store/journal/group.hpp"
#include "store/journal/open_journal.hpp"

namespace onceguard::journal {

/// Used by the writer's thread, between groups.
class sweeper {
 public:
  explicit sweeper(open_journal& opened) : journal_(opened) {}

  /// Looks at up to `slots` slots of the table, which are taken off, and removes up to `most`
  /// expired keys. Returns how many were removed. The next call goes on behind them.
  [[nodiscard]] std::size_t remove_expired(const moment& present, std::size_t& slots,
                                           std::size_t most);

  /// The oldest segment has to go: half of the log or more is needed no more, or an eighth on a
  /// full disk.
  [[nodiscard]] bool has_work() const;
  /// Some of what is still needed in the oldest segment, to be moved to the end of the log. Once
  /// they are on the disk, the next call goes on behind them.
  [[nodiscard]] result<std::vector<frame_move>> next_moves();
  /// They could not be moved: the next call begins anew.
  void begin_anew() noexcept { reading_ = 0; }
  /// Nothing in the oldest segment is needed, and it is not the last one.
  [[nodiscard]] bool oldest_is_unneeded() const;
  /// Removes it. That it may be gone must be on the disk before.
  [[nodiscard]] result<void> remove_oldest();

 private:
  [[nodiscard]] std::optional<frame_move> step_over_damage(const segment& oldest);
  [[nodiscard]] bool is_expired(const key_entry& entry, const moment& present) const;

  open_journal& journal_;
  std::size_t slot_ = 0;       // where the next look begins
  std::uint32_t reading_ = 0;  // the segment whose frames are moved
  std::uint64_t offset_ = 0;   // of the next frame in it
};

}  // namespace onceguard::journal
