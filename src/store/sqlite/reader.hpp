// The reader: a thread that answers queries on a connection of its own. The write-ahead log lets it
// read while the writer writes, and neither waits for the other.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "store/batch_queue.hpp"
#include "store/call.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

// The queries of operators and polls on a store's file. Each query is one read transaction.

/// A damaged page hides only the records on it, and their ids are listed as unreadable. Failures of
/// SQLite are thrown.
class record_queries {
 public:
  /// One page of results examines so many rows at most, and begins no row later than this, however
  /// few of them match.
  static constexpr std::size_t examined_max = 20'000;
  static constexpr std::chrono::milliseconds longest{100};
  /// Notes of unreadable records that a list of what needs a person takes.
  static constexpr std::size_t notes_max = 1'000;

  explicit record_queries(session& session);

  [[nodiscard]] result<std::optional<record_view>> find(const record_id& id);
  [[nodiscard]] result<list_page> list(const list_filter& filter, const std::string& cursor,
                                       std::size_t limit);
  [[nodiscard]] result<counts> count(const std::string& cursor);
  [[nodiscard]] result<vitals> read_vitals();

 private:
  struct row;
  using visitor = std::function<bool(const row&)>;
  class allowance;
  result<std::string> walk(const std::vector<observed_state>& states, const std::string& cursor,
                           const visitor& visit);
  bool walk_whole_pages(statement& rows, const std::vector<observed_state>& states,
                        std::int64_t& after, allowance& left, const visitor& visit);
  bool walk_damaged_pages(std::int64_t& after, allowance& left, const visitor& visit);
  bool visit_one(std::int64_t number, const std::string& digest, const visitor& visit);
  void add_noted(const moment& present, list_page& page);
  [[nodiscard]] bool is_noted(std::string_view digest);
  [[nodiscard]] result<std::optional<record_view>> find_at(const record_id& id,
                                                           const moment& present);
  [[nodiscard]] result<std::optional<record_view>> find_row(std::span<const unsigned char> digest,
                                                            const record_id& id,
                                                            const moment& moment);

  session& session_;
  statement find_, all_, unsettled_, digests_, one_, notes_, note_;
};

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
