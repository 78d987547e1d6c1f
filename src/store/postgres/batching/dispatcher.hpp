// Decides what is sent next, and what follows from each reply or failure. Does no I/O: the pool
// takes a trip when a connection is idle, and each trip reports its end.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/grant_gate.hpp"
#include "store/postgres/batching/request.hpp"
#include "store/postgres/connection/trip.hpp"
#include "store/postgres/postgres_params.hpp"
#include "store/postgres/queries/known_memory.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::postgres {

class batch_trip;

/// Belongs to one thread. Outlives its trips.
///
/// An entry is in one of these states:
///   waiting    in the queue, until a trip takes it; its caller gives up, or the store ends → over
///   in flight  in a trip; a reply → over; a failure that may pass → waiting; another → over
///   over       its request has an outcome or an error; the last part of a job delivers the job
class dispatcher {
 public:
  /// `params` and `name` must outlive the dispatcher.
  dispatcher(const postgres_params& params, const std::string& name)
      : params_(params), name_(name) {}

  /// Takes over all of `calls`.
  void accept(std::vector<call_ptr>& calls);
  /// The next trip; null if nothing can be sent now.
  [[nodiscard]] std::unique_ptr<trip> next();
  /// Asks the database to be notified of settles on the connection of this number.
  void listen(std::int64_t connection, milliseconds span) { listening_ = {connection, span}; }
  /// Ends the calls whose callers have given up.
  void purge();
  /// Fails all calls that are not in flight.
  void fail_waiting(const error& why);
  /// Gives the outcomes to the callers. To be called at the end of each turn.
  void deliver() { deliver_all(finished_); }

  [[nodiscard]] bool waiting() const noexcept { return !queue_.empty() || !questions_.empty(); }
  [[nodiscard]] bool under_way() const noexcept { return trips_ > 0; }

  [[nodiscard]] bool knows_clock() const noexcept { return wall_.has_value(); }
  /// Takes note of the database's clock, which was read just now.
  void read_clock(std::int64_t database_now);
  /// Any thread.
  [[nodiscard]] bool expiry_paused() const noexcept { return expiry_paused_; }
  /// Takes note of the database's memory. Another identity is another memory.
  void read_memory(const std::string& identity, std::int64_t floor);
  [[nodiscard]] const known_memory& memory() const noexcept { return memory_; }
  /// Any thread.
  [[nodiscard]] grant_gate& gate() noexcept { return gate_; }

 private:
  friend class batch_trip;
  struct interest {
    std::int64_t connection = 0;
    milliseconds span{};
  };

  [[nodiscard]] std::vector<entry> take_batch();
  [[nodiscard]] bool gathers(steady_time now) const;
  [[nodiscard]] std::optional<entry> take_question();
  [[nodiscard]] std::unique_ptr<trip> next_notice();
  void note_attention_of(const request& done);
  void refuse_claims();
  void end(entry& ended, std::optional<error> why = std::nullopt);
  void give_up(entry& ended);

  // The ends of trips.
  void arrived(batch_trip& trip, const std::vector<result_ptr>& results);
  void failed(batch_trip& trip, const failure& why, effect_of_failure after);
  void failed(entry& one, bool several, const failure& why, effect_of_failure after);

  const postgres_params& params_;
  const std::string& name_;
  std::deque<entry> queue_;  // in the order of arrival; what was sent before stands at the front
  std::deque<entry> questions_;
  std::size_t trips_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t questions_under_way_ = 0;
  std::string announced_;          // the settles of which others are to be notified
  std::set<record_id> attention_;  // records that are to be noted
  steady_time attention_due_{};
  std::optional<interest> listening_;
  /// A commit did not wait for the standby. Until a commit has waited again, each commit must wait.
  bool standby_distrusted_ = false;
  std::vector<call_ptr> finished_;
  std::optional<wall_guard> wall_;
  std::atomic<bool> expiry_paused_{false};
  known_memory memory_;
  grant_gate gate_;
};

}  // namespace onceguard::postgres
