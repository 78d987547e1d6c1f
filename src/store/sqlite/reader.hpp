// The reader: a thread that answers queries on a connection of its own. The write-ahead log lets it
// read while the writer writes, and neither waits for the other.
#pragma once
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "store/batch_queue.hpp"
#include "store/sqlite/record_queries.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/sqlite_params.hpp"
#include "store/worker_call.hpp"

namespace onceguard::sqlite {

// The jobs that the reader thread carries out for callers: queries that write nothing.

class read_job : public call {
 public:
  virtual void carry_out(record_queries& queries) = 0;
  virtual void fail(const error& why) = 0;
};

/// `Ask` is called with the queries and returns a result<Outcome>.
template <class Outcome, class Ask>
class question final : public read_job {
 public:
  explicit question(Ask ask) : ask_(std::move(ask)) {}

  [[nodiscard]] result<Outcome> outcome() {
    if (lapse()) {
      auto why = *lapse();
      why.effect = effect::none;
      return why;
    }
    return std::move(*outcome_);
  }

 private:
  void carry_out(record_queries& queries) override { outcome_.emplace(ask_(queries)); }
  void fail(const error& why) override { outcome_.emplace(why); }

  Ask ask_;
  std::optional<result<Outcome>> outcome_;
};

template <class Outcome, class Ask>
[[nodiscard]] std::shared_ptr<question<Outcome, Ask>> make_question(Ask ask) {
  return std::make_shared<question<Outcome, Ask>>(std::move(ask));
}

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
  absence absence_;
  std::unique_ptr<session> session_;
  std::optional<record_queries> queries_;
  std::thread thread_;
};

}  // namespace onceguard::sqlite
