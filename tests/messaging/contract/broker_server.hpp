// What the contract suite needs of a broker: a real server, and queues on it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

namespace onceguard::testing {

/// A new queue, with nobody else on it.
struct test_queue {
  std::string consumer_url;
  std::string publisher_url;
  /// Consumes what dead_letter moved away; empty where consumer_traits::dead_letters is false.
  std::string dead_letters_url;
  /// Of a second consumer beside the first one; empty: they have the same URL.
  std::string second_url{};

  [[nodiscard]] const std::string& other_url() const {
    return second_url.empty() ? consumer_url : second_url;
  }
};

/// A server of the tests' own. It ends with the test process.
class broker_server {
 public:
  broker_server() = default;
  broker_server(const broker_server&) = delete;
  broker_server& operator=(const broker_server&) = delete;
  virtual ~broker_server() = default;

  /// Makes a queue with a hold of `broker_under_test::hold`.
  [[nodiscard]] virtual test_queue make_queue() = 0;
  /// One whose holds are so long that none ends on a busy machine.
  [[nodiscard]] virtual test_queue make_patient_queue() { return make_queue(); }
  /// For many messages, and consumers that come and go.
  [[nodiscard]] virtual test_queue make_busy_queue() { return make_queue(); }
  /// A URL of a consumer whose queue does not exist.
  [[nodiscard]] virtual std::string missing_url() = 0;
  /// As a crash does it: SIGKILL.
  virtual void stop() = 0;
  /// Starts it again with what it had stored, and waits until it answers.
  virtual void start() = 0;
  /// SIGSTOP and SIGCONT.
  virtual void pause() = 0;
  virtual void go_on() = 0;
};

struct tested_broker {
  std::string name;
  /// Of the queues that make_queue makes; zero where deliveries are held as long as the connection.
  milliseconds hold{0};
  std::function<std::unique_ptr<broker_server>()> begin;
  /// An acknowledgement takes effect when all earlier deliveries are settled.
  bool acknowledges_in_order = false;
};

/// All that the program of the tests was linked with.
[[nodiscard]] const std::vector<tested_broker>& tested_brokers();

}  // namespace onceguard::testing
