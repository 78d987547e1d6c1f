// The writer: a thread that takes all that is queued, and answers it with one durable commit.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <onceguard/error.hpp>

#include "base/clock.hpp"
#include "store/batch_queue.hpp"
#include "store/grant_gate.hpp"
#include "store/sqlite/checkpointer.hpp"
#include "store/sqlite/damaged_records.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/sqlite_params.hpp"
#include "store/sqlite/transaction.hpp"
#include "store/sqlite/write_jobs.hpp"
#include "store/worker_call.hpp"

namespace onceguard::sqlite {

class writer {
 public:
  /// Writes to the store that `seen` has open. `params` must outlive the writer, which opens the
  /// file for itself when there is something to write.
  writer(const sqlite_params& params, const session& seen);
  ~writer() { stop(); }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  [[nodiscard]] const std::shared_ptr<batch_queue>& queue() const noexcept { return queue_; }
  /// The gate to which polls of the file's vitals report. Any thread may use it.
  [[nodiscard]] grant_gate& memory() noexcept { return memory_; }
  /// Finishes the queued jobs, then ends the thread. Not thread-safe; idempotent.
  void stop();

 private:
  void run();
  void serve();
  [[nodiscard]] std::optional<error> make_ready();
  [[nodiscard]] bool is_older(const meta& found) const noexcept;
  [[nodiscard]] error lost();
  void take_over(std::unique_ptr<session> opened);
  [[nodiscard]] std::optional<failure> lock();
  void give_up_sweeps();
  void answer_what_needs_no_write();
  void make_room();
  [[nodiscard]] std::optional<failure> carry_out();
  [[nodiscard]] std::optional<failure> begin_anew();
  [[nodiscard]] std::optional<failure> carry_out_past_damage(const failure& first);
  void serve_one_by_one();
  void finish_commit();
  [[nodiscard]] std::optional<failure> commit();
  void fail_after(const failure& failure, bool rolled_back);
  void fail_all(const error& why, bool of_commit);
  void end_transaction(const failure& after);
  void hand_back();
  void keep_log_short();

  const sqlite_params& params_;
  const std::shared_ptr<batch_queue> queue_ = std::make_shared<batch_queue>();
  grant_gate memory_;
  // The members below belong to the thread.
  checkpointer checkpointer_;
  absence absence_;
  std::unique_ptr<session> session_;
  std::optional<record_table> table_;
  std::string identity_;
  file_mark file_;     // the file that was opened last
  bool lost_ = false;  // the file is not the former one, which is yet to be reported
  token last_token_ = 0;
  base::boot_clock::time_point room_tried_{};
  damaged_records damaged_records_;
  meta written_;                 // committed for certain: a file that knows of less is an older one
  meta writing_;                 // as of the transaction that is not committed yet
  std::vector<call_ptr> calls_;  // the batch: all of them write_jobs
  std::vector<call_ptr> unfinished_;
  std::vector<call_ptr> finished_;
  std::thread thread_;
};

}  // namespace onceguard::sqlite
