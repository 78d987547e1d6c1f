// The parameters with which the journal store is opened.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "store/batch_queue.hpp"
#include "store/journal/file_layer.hpp"

namespace onceguard::journal {

struct journal_params {
  std::string path;  ///< of the folder
  const base::clock* clock = &base::system_clock();
  std::uint64_t segment_size = std::uint64_t{64} << 20;  ///< of a file, unless one group is larger
  std::size_t cache_size = std::size_t{32} << 20;        ///< bytes of records kept in memory
  /// Bytes of log behind a checkpoint, at least, before another one is written. It is never less
  /// than the checkpoint's own size, so that checkpoints at most double what is written.
  std::uint64_t checkpoint_after = std::uint64_t{64} << 20;
  std::size_t batch_max = 256;  ///< calls in one group
  /// Opens the folder's files.
  std::function<result<std::unique_ptr<file_layer>>(const std::string&)> files = open_folder;
  /// Empty: the workers have threads of their own. Else the loop of the callers calls each turn
  /// that it gets here, once, later, and never after the store was stopped. For the simulation.
  std::function<void(std::function<void()>)> run_soon;

  /// The queue of a worker: `turn` serves what is in it, where no thread does.
  [[nodiscard]] std::shared_ptr<batch_queue> make_queue(std::function<void()> turn) const {
    if (!run_soon) return std::make_shared<batch_queue>();
    return std::make_shared<batch_queue>([this, turn = std::move(turn)] { run_soon(turn); });
  }
};

}  // namespace onceguard::journal
