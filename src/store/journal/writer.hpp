// The writer: a thread that takes all that is queued, and answers it with one flush.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <onceguard/error.hpp>

#include "store/batch_queue.hpp"
#include "store/journal/checkpointer.hpp"
#include "store/journal/journal_params.hpp"
#include "store/journal/open_journal.hpp"
#include "store/journal/record_cache.hpp"
#include "store/journal/sweeper.hpp"
#include "store/journal/write_jobs.hpp"

namespace onceguard::journal {

class writer {
 public:
  /// Both must outlive the writer.
  writer(const journal_params& params, open_journal& opened);
  ~writer() { stop(); }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  [[nodiscard]] const std::shared_ptr<batch_queue>& queue() const noexcept { return queue_; }
  /// Finishes the queued jobs, then ends the thread. Not thread-safe; idempotent.
  void stop();

 private:
  void run();
  [[nodiscard]] bool take_calls();
  void serve();
  void serve_writes(const moment& present);
  void serve_group(const std::vector<write_job*>& jobs, std::size_t& next, const moment& present);
  void answer_refused(const std::vector<write_job*>& jobs, const moment& present, const error& why);
  void answer_without_writing(const std::vector<write_job*>& jobs, const moment& present,
                              const error& why);
  [[nodiscard]] result<void> write(group& within, room use);
  /// A group that nobody waits for, of what removes segments.
  [[nodiscard]] result<void> write(const std::function<void(group&)>& fill);
  [[nodiscard]] result<void> remove_oldest();
  [[nodiscard]] result<void> check_writes();
  void serve_sweep(sweep_job& job, const moment& present);
  void reclaim();
  void hand_back();
  void report(const error& why);

  const journal_params& params_;
  open_journal& journal_;
  const std::shared_ptr<batch_queue> queue_;
  // The members below belong to the thread, or to the loop that has its turns.
  record_cache cache_;
  sweeper sweeper_;
  checkpointer checkpointer_;
  bool reclaiming_ = false;  // a sweep was there, and segments may have to go
  /// A disk may be full for hours, and each group meets it.
  struct reported {
    std::int64_t time = 0;  // by the boot clock
    std::uint64_t left_out = 0;
  };
  std::map<std::string, reported, std::less<>> reported_;  // by the reason, of which there are few
  std::vector<call_ptr> calls_, unfinished_, finished_;
  std::thread thread_;
};

}  // namespace onceguard::journal
