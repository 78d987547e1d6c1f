// The connection of a subscription, which is opened again after each break, and its thread.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/timer_wheel.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/subscription.hpp"

namespace onceguard::redis {

class subscriber final : private base::deadline {
 public:
  explicit subscriber(subscription& subscription);
  ~subscriber() override;

 private:
  void expired() override;
  [[nodiscard]] boost::asio::awaitable<void> live();
  /// Reads messages until the connection breaks.
  [[nodiscard]] boost::asio::awaitable<failure> read();
  [[nodiscard]] boost::asio::awaitable<void> subscribe();
  void take_messages();
  [[nodiscard]] std::chrono::milliseconds next_pause(const failure& why);

  subscription& of_;
  boost::asio::io_context context_{1};
  // The members below belong to the thread.
  boost::asio::steady_timer pause_{context_};
  std::optional<boost::asio::ssl::context> tls_;
  std::optional<connection> connection_;
  std::size_t turn_ = 0;  // each server gets its own
  std::vector<std::uint64_t> ended_;
  bool subscribed_ = false;
  bool stopping_ = false;
  std::uint32_t failures_ = 0;  // in a row
  std::thread thread_;
};

}  // namespace onceguard::redis
