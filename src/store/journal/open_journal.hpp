// An open journal: its log, its table and its state. The writer changes them, and readers look at
// them meanwhile.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "base/clock.hpp"
#include "core/record_codec.hpp"
#include "store/earlier_boot.hpp"
#include "store/journal/journal_params.hpp"
#include "store/journal/key_table.hpp"
#include "store/journal/recovery.hpp"
#include "store/journal/segment_log.hpp"
#include "store/journal/state.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::journal {

/// The clocks at one moment. Leases of records with another `boot` have ended.
struct moment {
  instant now;
  std::uint32_t boot = 0;
  std::int64_t wall_ahead = 0;  ///< how far the wall clock is ahead of the retention clock
};

/// A record's place, and the file that has it.
struct located_frame {
  frame_location location;
  segment_ptr container;
};

class open_journal {
 public:
  /// Recovers what is there, or begins a journal; blocks.
  [[nodiscard]] static result<std::unique_ptr<open_journal>> open(const journal_params& params);

  // Any thread, under the lock.
  std::mutex lock;
  key_table table;
  std::optional<segment_log> log;
  journal_state state;
  wall_guard guard;

  /// For the writer: a group of this size fits behind the last one afterwards. Cuts off what a
  /// failed group has left, if one has. `errc::store_full`: there is no room, and nothing was
  /// changed.
  [[nodiscard]] result<void> make_room(std::uint64_t size, room use);
  /// What is appended from now on goes into a new segment, with room for so many bytes.
  [[nodiscard]] result<void> begin_segment(std::uint64_t size, room use);
  /// Not under the lock. errc::store_lost: the file was removed or replaced since it was opened,
  /// or another one was before; nothing is taken until the store is opened again. Other errors
  /// pass.
  [[nodiscard]] result<void> check_file(const segment& opened);
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }

  [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
  [[nodiscard]] const std::string& raw_identity() const noexcept { return raw_identity_; }
  [[nodiscard]] file_layer& files() const noexcept { return *files_; }
  [[nodiscard]] const std::string& location() const noexcept { return files_->location(); }
  /// Under the lock: for readers, whose look at the clocks leaves no trace.
  [[nodiscard]] moment poll_clocks() const;
  /// Under the lock. Notes a new boot of the machine, and what the wall clock does.
  [[nodiscard]] moment read_clocks();
  /// Under the lock.
  [[nodiscard]] located_frame location_of(const key_entry& entry) const {
    return {entry.location, log->find(entry.location.segment)};
  }

 private:
  open_journal(const journal_params& params, std::unique_ptr<file_layer> files);
  void enter_boot();
  void remove_unfinished();
  [[nodiscard]] result<void> mend();
  [[nodiscard]] std::optional<error> begin();
  void report(const recovered& found, base::boot_clock::time_point begun) const;

  const base::clock& clock_;
  const std::uint64_t segment_size_;
  const std::unique_ptr<file_layer> files_;
  std::atomic<bool> lost_{false};
  bool opened_ = false;  // the end that was found when it was opened has been cut
  std::string raw_identity_;
  std::string identity_;  // in hex
};

/// Reads the record of a frame, and ends its lease if it is from before the last boot.
[[nodiscard]] result<record_in_boot> read_record(const located_frame& located, const record_id& id,
                                                 const moment& present);

}  // namespace onceguard::journal
