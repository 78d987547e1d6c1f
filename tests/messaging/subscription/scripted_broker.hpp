// A broker in memory, whose faults a test decides: the scheme `test`. Each name in a URL is a
// queue.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

namespace onceguard::testing {

/// What a queue of this broker knows; guarded by its mutex.
struct scripted_queue {
  std::mutex mutex;
  std::deque<messaging::delivery> waiting;
  std::map<std::uint64_t, messaging::delivery> held;
  std::vector<messaging::message> published;
  std::vector<std::string> acknowledged;  ///< payloads
  std::vector<std::string> given_back;
  std::vector<std::string> dead;
  std::size_t extended = 0;
  std::size_t give_back_calls = 0;
  std::size_t given_back_amid_intake = 0;  ///< while more may come to the same consumer
  std::size_t publish_calls = 0;
  std::size_t held_most = 0;
  bool limits_what_is_held = true;  ///< else a consumer is given all that it asks for
  std::size_t connections = 0;
  std::uint32_t delivery_limit = 0;  ///< 0: none
  std::vector<std::string> lost_at_limit;
  messaging::consumer_traits traits;
  std::vector<messaging::dropped_message> dropped;  ///< reported once
  /// Errors of the next calls of receive, extend, acknowledge, give_back, publish and open.
  std::deque<error> refuse_receive;
  std::deque<error> refuse_extend;
  std::deque<error> refuse_give_back;
  std::deque<error> refuse_acknowledge;
  std::deque<error> refuse_publish;
  std::deque<error> refuse_open;
  /// What the publisher says of a batch that was refused; and errors of await_answers, behind which
  /// all that was on its way is stored.
  std::vector<messaging::publication> progress;
  std::deque<error> refuse_await;

  void put(const std::string& payload, const std::string& id, const std::string& key = {});
  [[nodiscard]] std::size_t settled();
};

/// The queue of this name, made when first asked for.
[[nodiscard]] std::shared_ptr<scripted_queue> scripted_queue_of(const std::string& name);

}  // namespace onceguard::testing
