// Decides what is sent next, and what follows from each reply or failure. Does no I/O: the pool
// takes a trip when a connection is idle, and each trip reports its end.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "store/grant_gate.hpp"
#include "store/postgres/postgres_params.hpp"
#include "store/postgres/question.hpp"
#include "store/postgres/request_queue.hpp"
#include "store/postgres/trip.hpp"
#include "store/postgres/wire.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::postgres {

template <class Kind>
class batch_trip;
class question_trip;

/// Belongs to one thread. Outlives its trips.
class dispatcher {
 public:
  /// `params` and `name` must outlive the dispatcher.
  dispatcher(const postgres_params& params, const std::string& name)
      : params_(params), name_(name) {}

  /// Takes over all of `calls`.
  void accept(std::vector<call_ptr>& calls);
  /// The next trip; null if nothing can be sent now.
  [[nodiscard]] std::unique_ptr<trip> next();
  /// Ends the calls whose callers have given up.
  void purge();
  /// Fails all calls that are not in flight.
  void fail_waiting(const error& why);
  /// Gives the outcomes to the callers. To be called at the end of each turn.
  void deliver() { deliver_all(finished_); }

  [[nodiscard]] bool waiting() const noexcept;
  [[nodiscard]] bool under_way() const noexcept { return trips_ > 0; }

  [[nodiscard]] bool knows_clock() const noexcept { return wall_.has_value(); }
  /// Takes note of the database's clock, which was read just now.
  void read_clock(std::int64_t database_now);
  /// Takes note of the database's identity and generation, and keeps the highest generation.
  /// Another identity is another memory.
  void read_generation(const known_generation& generation);
  [[nodiscard]] const known_generation& generation() const noexcept { return generation_; }
  /// While held, claims wait.
  void hold_claims(bool held) noexcept { claims_held_ = held; }
  /// Any thread.
  [[nodiscard]] grant_gate& memory() noexcept { return memory_; }

 private:
  friend class question;
  template <class Item, class Outcome>
  friend class batch_job;
  template <class Kind>
  friend class batch_trip;
  friend class question_trip;

  template <class Kind>
  [[nodiscard]] request_queue<Kind>& queue_of() {
    return std::get<request_queue<Kind>>(queues_);
  }

  // The parts of jobs.
  template <class Kind>
  void queue(const call_ptr& self, std::shared_ptr<typename entry<Kind>::job_type> whole);
  template <class Kind>
  [[nodiscard]] std::unique_ptr<trip> next_batch();
  [[nodiscard]] std::unique_ptr<trip> next_question();
  template <class Kind>
  void conclude(entry<Kind>& ended, result<typename Kind::outcome> entry);
  template <class Kind>
  void conclude_lapsed(entry<Kind>& ended);
  template <class Kind>
  void retry(entry<Kind> again, steady_time now);

  // The ends of trips.
  template <class Kind>
  void arrived(batch_trip<Kind>& trip, const rows& results);
  void take_generations(const known_generation& expected, const request_queue<claims>::batch& sent,
                        const std::vector<std::uint64_t>& granted);
  template <class Kind>
  void take_reply(entry<Kind>& entry, reply<typename Kind::outcome>& reply, steady_time now);
  void put_grant_in_doubt(entry<claims>& entry);
  void refuse_claims();
  void take_joined(entry<claims>& entry, const std::optional<verdict>& reply);
  template <class Kind>
  void failed(batch_trip<Kind>& trip, const failure& why, effect_of_failure after);
  void arrived(question_trip& trip, const rows& results);
  void failed(question_trip& trip, const failure& why, effect_of_failure after);

  void finish(call_ptr done) { finished_.push_back(std::move(done)); }
  void ended(bool confirmed);

  const postgres_params& params_;
  const std::string& name_;
  std::tuple<request_queue<settles>, request_queue<extensions>, request_queue<claims>> queues_;
  std::deque<std::shared_ptr<question>> questions_;
  records_under_way under_way_;
  std::size_t trips_ = 0;
  std::size_t questions_under_way_ = 0;
  unsigned turn_ = 0;  // the queue that is examined first
  /// A commit did not wait for the standby. Until a commit has waited again, each commit must wait.
  bool standby_distrusted_ = false;
  std::vector<call_ptr> finished_;
  std::optional<wall_guard> wall_;
  bool expiry_paused_ = false;
  known_generation generation_;
  bool claims_held_ = false;
  grant_gate memory_;
};

}  // namespace onceguard::postgres
