// Reads the segments of a journal when it is opened.
#pragma once
#include <deque>
#include <string>

#include <onceguard/error.hpp>

#include "store/journal/file_layer.hpp"
#include "store/journal/key_table.hpp"
#include "store/journal/segment.hpp"
#include "store/journal/segment_log.hpp"
#include "store/journal/state.hpp"
#include "store/journal/window.hpp"

namespace onceguard::journal {

struct recovered {
  std::string identity;  ///< empty: there is no journal yet
  std::deque<segment_ptr> segments;
  journal_state state;
  bool has_state = false;        ///< there is a commit, and it could be read
  log_position end;              ///< of the last whole group
  std::uint64_t last_group = 0;  ///< where it begins in the last segment; 0: it is on the disk
  std::uint64_t tail = 0;        ///< bytes of frames that were read, and not left to a checkpoint
  bool cut_off = false;          ///< there is a group that was not finished at the end of the log
  std::string checkpoint_fault;  ///< why a checkpoint that is there was not used
};

enum class checkpoint_use : std::uint8_t {
  taken,    ///< only what follows it is read
  ignored,  ///< all frames are read, and the sums of all bodies looked at
};

/// Reads the checkpoint and the segments behind it, or all segments, and fills the table, which
/// must be empty. A group that a crash has torn ends the log, if it is the last one.
/// errc::store_lost: a segment is missing or damaged; the detail names segment and offset. A frame
/// whose body alone is damaged is no error: its record is unreadable.
[[nodiscard]] result<recovered> recover(file_layer& files, key_table& table,
                                        checkpoint_use use = checkpoint_use::taken);

/// Is there a frame of a later group than `group` between these offsets of a segment? False, too,
/// if a read fails, which `seen` tells.
[[nodiscard]] bool has_later_group(window& seen, std::uint64_t seed, std::uint64_t offset,
                                   std::uint64_t end, std::uint64_t group);

}  // namespace onceguard::journal
