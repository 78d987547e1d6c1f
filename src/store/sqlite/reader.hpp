// The reader: a thread that answers queries on a connection of its own. The write-ahead log lets it
// read while the writer writes, and neither waits for the other.
#pragma once
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "store/batch_queue.hpp"
#include "store/sqlite/read_job.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

class reader {
 public:
  /// Only the reader's thread uses `opened` from here on. `params` must outlive the reader.
  reader(const sqlite_params& params, std::unique_ptr<session> opened);
  ~reader() { stop(); }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  [[nodiscard]] const std::shared_ptr<batch_queue>& queue() const noexcept { return queue_; }
  /// Finishes the queued jobs, then ends the thread. Not thread-safe; idempotent.
  void stop();

 private:
  void run();
  void serve(read_job& job);
  [[nodiscard]] std::optional<error> make_ready();
  void close();

  const sqlite_params& params_;
  const std::shared_ptr<batch_queue> queue_ = std::make_shared<batch_queue>();
  // The members below belong to the thread.
  std::unique_ptr<session> session_;
  std::optional<record_queries> queries_;
  std::thread thread_;
};

}  // namespace onceguard::sqlite
