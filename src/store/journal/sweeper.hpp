// Removes what has outlived its retention, and the segments of which too little is needed.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

#include "base/clock.hpp"
#include "store/journal/group.hpp"
#include "store/journal/open_journal.hpp"
#include "store/journal/unread_frames.hpp"

namespace onceguard::journal {

/// Used by the writer's thread, between groups.
class sweeper {
 public:
  /// Both must outlive it.
  sweeper(const base::clock& clock, open_journal& opened) : clock_(clock), journal_(opened) {}

  /// Looks at up to `slots` slots of the table, which are taken off, and removes up to `most`
  /// expired keys. Returns how many were removed. The next call goes on behind them. At most one
  /// read fails in a call, which ends there.
  [[nodiscard]] std::size_t remove_expired(const moment& present, std::size_t& slots,
                                           std::size_t most);

  /// The oldest segment has to go: half of the log or more is needed no more, or an eighth on a
  /// full disk.
  [[nodiscard]] bool has_work() const;
  struct step {
    std::vector<frame_move> moves;
    bool more = false;  ///< the segment is not looked through
  };
  /// Some of what is still needed in the oldest segment, to be moved to the end of the log. Once
  /// they are on the disk, the next call goes on behind them. At most one read fails in a call.
  [[nodiscard]] step next_moves();
  /// They could not be moved: the next call begins anew.
  void begin_anew() noexcept;
  /// Nothing in the oldest segment is needed, and it is not the last one.
  [[nodiscard]] bool oldest_is_unneeded() const;
  /// Removes it. That it may be gone must be on the disk before.
  [[nodiscard]] result<void> remove_oldest();

 private:
  void begin_with(std::uint32_t segment) noexcept;
  [[nodiscard]] step moves_by_frames(const segment& oldest);
  [[nodiscard]] step moves_by_table(const segment& oldest);
  void note_unread(key_entry& entry);
  void report(std::uint64_t offset, const std::string& why, bool given_up = false);
  /// Of a record in no final state: its frame says so. None: it can't be read.
  [[nodiscard]] std::optional<bool> read_expired(key_entry& entry, const moment& present);
  [[nodiscard]] std::optional<bool> is_expired(key_entry& entry, const moment& present);

  const base::clock& clock_;
  open_journal& journal_;
  std::size_t slot_ = 0;       // where the next look for expired keys begins
  std::uint32_t reading_ = 0;  // the segment whose frames are moved
  std::uint64_t offset_ = 0;   // of the next frame in it
  // A frame's header could not be read, so it does not say where the next frame is: what is needed
  // is found by the table.
  bool by_table_ = false;
  std::size_t next_slot_ = 0;
  std::size_t failed_reads_ = 0;  // since the last pause
  unread_frames unread_;
  std::set<std::pair<std::uint64_t, std::string>> reported_;  // of the segment that is read
};

}  // namespace onceguard::journal
