// Polls one server for what it knows of the other servers.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/record.hpp>

#include "base/timer_wheel.hpp"
#include "store/redis/connection.hpp"

namespace onceguard::redis {

/// Keeps its connection from one question to the next. Belongs to the thread of its io_context;
/// must not be destroyed while it is busy.
class topology_poller final : private base::deadline {
 public:
  /// The replies in the order of the commands, or why there are none.
  using listener = std::function<void(std::vector<reply_ptr> replies, std::optional<failure> why)>;

  topology_poller(const connection_context& context, endpoint endpoint, const credentials& as,
                  milliseconds patience)
      : in_(context), to_(std::move(endpoint)), as_(as), patience_(patience) {}

  [[nodiscard]] const endpoint& to() const noexcept { return to_; }
  [[nodiscard]] bool busy() const noexcept { return busy_; }
  /// Only while not busy. The listener is called once, never from within.
  void ask(std::vector<std::string> commands, listener listener);
  /// Ends the question that is under way.
  void close();

 private:
  void expired() override;
  [[nodiscard]] boost::asio::awaitable<void> run();

  const connection_context in_;
  const endpoint to_;
  const credentials& as_;
  const milliseconds patience_;
  std::unique_ptr<connection> connection_;
  std::vector<std::string> commands_;
  listener listener_;
  bool busy_ = false;
  bool closed_ = false;
};

}  // namespace onceguard::redis
