// The thread that moves the log into the file while the writer goes on writing: it takes a flush of
// the file and of thousands of pages, which no caller should wait for.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "store/sqlite/session.hpp"
#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

/// Used by one thread, the writer's.
class checkpointer {
 public:
  /// `params` must outlive it. The file is opened with the first move.
  explicit checkpointer(const sqlite_params& params);
  ~checkpointer() { stop(); }
  checkpointer(const checkpointer&) = delete;
  checkpointer& operator=(const checkpointer&) = delete;

  /// Begins to move what is in the log now, unless it is still at an earlier move.
  void begin();
  /// Has a move ended since the last one began? True once. What was written meanwhile is still in
  /// the log, and all of it where the move failed.
  [[nodiscard]] bool ended();
  /// Ends what it is at, and closes the file. Idempotent.
  void stop();

 private:
  enum class phase : std::uint8_t { idle, requested, ended, closing };

  void run();
  void move();

  const sqlite_params& params_;
  std::unique_ptr<session> session_;  // belongs to the thread
  std::mutex mutex_;                  // guards what follows
  std::condition_variable changed_;
  phase phase_ = phase::idle;
  std::thread thread_;
};

}  // namespace onceguard::sqlite
