// The reader: a thread that answers queries. It takes the lock for moments only, and reads the
// files without it, while the writer goes on.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "store/batch_queue.hpp"
#include "store/journal/journal_params.hpp"
#include "store/journal/open_journal.hpp"
#include "store/worker_call.hpp"

namespace onceguard::journal {

/// What is asked of an open journal. Used by one thread.
class record_queries {
 public:
  explicit record_queries(open_journal& opened) : journal_(opened) {}

  [[nodiscard]] result<std::optional<record_view>> find(const record_id& id);
  [[nodiscard]] result<list_page> list(const list_filter& filter, const std::string& cursor,
                                       std::size_t limit);
  [[nodiscard]] result<counts> count(const std::string& cursor);
  [[nodiscard]] result<vitals> read_vitals();

 private:
  struct seen_entry {
    key_entry entry;
    located_frame located;
  };
  template <class Visit>
  result<std::string> walk(const std::string& cursor, Visit visit);
  [[nodiscard]] moment poll_clocks();
  /// One that succeeds ends the time for which the disk has not delivered the record.
  [[nodiscard]] result<record_in_boot> read(const seen_entry& it, const moment& present);
  void note_unreadable(const record_id& id, const error& why);

  open_journal& journal_;
};

// The jobs that the reader's thread carries out for callers.

class read_job : public call {
 public:
  virtual void carry_out(record_queries& queries) = 0;
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

  Ask ask_;
  std::optional<result<Outcome>> outcome_;
};

class reader {
 public:
  /// Both must outlive the reader.
  reader(const journal_params& params, open_journal& opened);
  ~reader() { stop(); }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  [[nodiscard]] const std::shared_ptr<batch_queue>& queue() const noexcept { return queue_; }
  /// Finishes the queued jobs, then ends the thread. Not thread-safe; idempotent.
  void stop();

 private:
  void run();
  [[nodiscard]] bool take_calls(std::vector<call_ptr>& calls);

  const journal_params& params_;
  record_queries queries_;
  const std::shared_ptr<batch_queue> queue_;
  std::thread thread_;
};

}  // namespace onceguard::journal
