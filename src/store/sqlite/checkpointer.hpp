// The checkpointer: a thread that copies the write-ahead log into the file while the writer goes on
// writing. A checkpoint copies thousands of pages and flushes the file, and no caller should wait
// for that.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "store/sqlite/session.hpp"
#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

/// Used by the writer's thread only.
class checkpointer {
 public:
  /// `params` must outlive the checkpointer. Each checkpoint opens the file.
  explicit checkpointer(const sqlite_params& params);
  ~checkpointer() { stop(); }
  checkpointer(const checkpointer&) = delete;
  checkpointer& operator=(const checkpointer&) = delete;

  /// Starts a checkpoint of the present write-ahead log, unless an earlier checkpoint still runs.
  void begin();
  /// True once after each checkpoint that has ended. What was written during the checkpoint is
  /// still only in the write-ahead log; after a failed checkpoint, all of the log may be.
  [[nodiscard]] bool ended();
  /// Finishes a running checkpoint. Idempotent.
  void stop();

 private:
  enum class phase : std::uint8_t { idle, requested, ended, closing };

  [[nodiscard]] bool start_thread();
  void run();
  void move();
  void unable(const std::string& why) const;

  const sqlite_params& params_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  phase phase_ = phase::idle;
  std::thread thread_;
};

}  // namespace onceguard::sqlite
