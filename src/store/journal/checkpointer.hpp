// Writes checkpoints beside the writer, on a thread of its own.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

#include "store/journal/journal_params.hpp"
#include "store/journal/open_journal.hpp"

namespace onceguard::journal {

class checkpointer {
 public:
  /// Both must outlive it.
  checkpointer(const journal_params& params, open_journal& opened)
      : params_(params), journal_(opened) {}
  ~checkpointer() { stop(); }
  checkpointer(const checkpointer&) = delete;
  checkpointer& operator=(const checkpointer&) = delete;

  /// For the writer's thread, after a group. Failures are only logged: a start then reads more.
  void begin_if_due();
  /// Gives up one that is being written. Not thread-safe; idempotent.
  void stop();

 private:
  void run();
  void report(const std::string& why) const;

  const journal_params& params_;
  open_journal& journal_;
  std::atomic<bool> running_{false};
  std::atomic<bool> stopped_{false};
  std::uint64_t last_ = 0;  // how much the log had when the last one began
  std::thread thread_;
};

}  // namespace onceguard::journal
