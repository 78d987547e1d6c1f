// The messages that a subscription holds: in order, running, or waiting for another attempt. Pure:
// the time comes from outside.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onceguard/subscription.hpp>

#include "base/clock.hpp"

namespace onceguard::messaging {

class message_queue {
 public:
  using time_point = base::boot_clock::time_point;

  explicit message_queue(order_rule order) : order_(order) {}

  struct held {
    delivery message;
    std::string id;
    time_point extend_at{};
    bool running = false;
    std::optional<time_point> retry_at{};       ///< waits for another attempt
    bool alone = false;                         ///< in a batch of its own
    std::uint32_t errors = 0;                   ///< batches that ended in an error
    std::uint32_t excused = 0;                  ///< failed attempts that don't count
    std::uint32_t blamed = 0;                   ///< those that were excused, and count after all
    std::optional<std::uint64_t> excused_at{};  ///< successes() then: who did the work was away
  };

  /// A delivery that was received.
  void add(delivery message, std::string id, time_point extend_at);
  /// The next batch of up to `most` messages, which run from now on; empty: none may run now.
  /// Messages with the same order key stand in their order, and in one batch at a time; so do those
  /// with the same id.
  [[nodiscard]] std::vector<const held*> next_batch(std::size_t most, time_point now);
  /// The message is not held any more.
  void remove(std::uint64_t tag) { static_cast<void>(take(tag)); }
  /// The message that ran waits for another attempt: where order is kept, before all later ones of
  /// its key. `alone`: in a batch of its own, from now on.
  void retry(std::uint64_t tag, time_point due, bool alone = false);
  /// As retry, after a batch that ended in an error: after `pause`, doubled for each error before.
  void retry_after_error(std::uint64_t tag, time_point now, milliseconds pause, bool alone);
  /// The message that has been tried the least of those that may run now, which runs from now on;
  /// none may: empty. What it comes to is no evidence against it.
  [[nodiscard]] std::vector<const held*> next_probe(time_point now);
  /// Whether a message may run now that has not been tried yet.
  [[nodiscard]] bool has_untried(time_point now) const;
  /// As retry: who does the work was away, and the attempt does not count, unless another message
  /// succeeds before the next one. `blameless`: not even then.
  void excuse(std::uint64_t tag, time_point due, bool blameless);
  /// A message was handled.
  void note_success() noexcept { ++successes_; }
  /// The connection is gone, and all its deliveries. What runs keeps its key and its id until
  /// end().
  void clear();
  /// A message that ran when its connection went does not run any more.
  void end(const std::string& order_key, const std::string& id);

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  [[nodiscard]] bool runs(std::uint64_t tag) const {
    const auto found = all_.find(tag);
    return found != all_.end() && found->second.running;
  }
  /// When the first of the messages that wait is due.
  [[nodiscard]] std::optional<time_point> first_retry() const;
  /// Whether later messages wait for this one.
  [[nodiscard]] bool keeps_order(std::uint64_t tag) const;
  /// The messages that are to be extended, which are noted as extended until `next`.
  [[nodiscard]] std::vector<std::uint64_t> to_extend(time_point now, time_point next);
  /// One that is held.
  [[nodiscard]] const held& at(std::uint64_t tag) const { return all_.at(tag); }
  /// The tags of all that do not run.
  [[nodiscard]] std::vector<std::uint64_t> idle() const;

 private:
  /// Nullopt: the message is not held.
  std::optional<held> take(std::uint64_t tag);
  void put_back(held one, time_point due, bool alone);
  void begin(held& one);
  /// Its failure counts after all, if others were handled meanwhile.
  void blame(held& one) const;
  [[nodiscard]] bool is_free(const held& one) const;
  [[nodiscard]] const held* least_tried(time_point now) const;
  [[nodiscard]] bool keeps_order(const held& one) const;
  [[nodiscard]] bool may_run(const held& one, time_point now) const;

  const order_rule order_;
  std::unordered_map<std::uint64_t, held> all_;
  std::deque<std::uint64_t> order_of_arrival_;  ///< of those that do not run
  std::unordered_map<std::string, std::size_t> running_keys_;
  std::unordered_map<std::string, std::size_t> running_ids_;
  std::size_t waiting_ = 0;
  std::uint64_t successes_ = 0;
};

}  // namespace onceguard::messaging
