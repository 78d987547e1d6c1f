// A checkpoint: the table of all keys in a file, so that a start reads that and the log's tail, and
// not the whole log. Without one, or with a damaged one, the log alone has all that it says.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <onceguard/error.hpp>

#include "store/journal/file_layer.hpp"
#include "store/journal/key_table.hpp"
#include "store/journal/segment_log.hpp"
#include "store/journal/state.hpp"

namespace onceguard::journal {

class open_journal;

inline constexpr const char* checkpoint_name = "checkpoint";
/// Of one that is not finished.
inline constexpr const char* new_checkpoint_name = "checkpoint-new";

struct checkpoint {
  std::string identity;  ///< 16 bytes: of the store
  log_position begin;    ///< the table is at least as of here: what follows is read from the log
  log_position end;      ///< and at most as of here: the log reaches as far, or something is lost
  journal_state state;   ///< as of the begin
};

struct written_checkpoint {
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
};

/// Writes the table as it is, piece by piece under the lock, while the journal goes on. None:
/// `stopped` became true.
[[nodiscard]] result<std::optional<written_checkpoint>> write_checkpoint(
    open_journal& source, const std::atomic<bool>& stopped);

struct read_outcome {
  std::optional<checkpoint> found;
  std::string fault;  ///< why a checkpoint that is there can't be used
};

/// Fills the table, which must be empty, and is again if there is nothing to be used. What stands
/// in a segment before `first` is left out: those were removed because nothing in them is needed.
[[nodiscard]] read_outcome read_checkpoint(file_layer& files, key_table& table,
                                           std::uint32_t first);

}  // namespace onceguard::journal
