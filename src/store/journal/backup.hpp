// Copies of a journal, and how one is put back.
#pragma once
#include <cstdint>
#include <string>

#include <onceguard/error.hpp>

#include "store/journal/file_layer.hpp"
#include "store/journal/journal_params.hpp"

namespace onceguard::journal {

struct checked_journal {
  std::uint64_t keys = 0;
  std::uint64_t unreadable = 0;  ///< keys whose records are damaged
};
/// Writes a copy into the new folder `target`, also while a process has the journal open. Segments
/// that are full never change: on the same file system they get a second name there. The copy is
/// read as a whole before it gets its name, and returned is what was found: a copy with damaged
/// records is better than none.
[[nodiscard]] result<checked_journal> back_up(const journal_params& params,
                                              const std::string& target);

/// Replaces the journal, which nobody may have open, by the copy in `source`, which stays as it is.
/// Returns the new name of what was there before; empty: nothing was.
[[nodiscard]] result<std::string> restore(const journal_params& params, const std::string& source);

/// Reads every frame of a journal that nobody has open, or of a copy. Changes nothing.
/// errc::store_lost: a segment is damaged or missing.
[[nodiscard]] result<checked_journal> check(const std::string& path);

/// Where the whole groups of a segment end, by now, whatever its owner appends meanwhile: all of
/// the file where a group behind them is damaged, and later ones are there. Returns 0, or the
/// errno.
[[nodiscard]] int find_whole_end(const file& source, std::uint64_t seed, std::uint64_t& end);

}  // namespace onceguard::journal
