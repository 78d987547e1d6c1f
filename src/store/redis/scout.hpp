// Asks one server, again and again, what it knows of the others.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/record.hpp>

#include "base/watchdog.hpp"
#include "store/redis/line.hpp"

namespace onceguard::redis {

/// Keeps its connection from one question to the next. Belongs to the thread of its io_context;
/// must not be destroyed while it is busy.
class scout final : private base::deadline {
 public:
  /// The replies in the order of the commands, or why there are none.
  using listener = std::function<void(std::vector<reply_ptr> replies, std::optional<failure> why)>;

  scout(const line_surroundings& in, endpoint to, const credentials& as, milliseconds patience)
      : in_(in), to_(std::move(to)), as_(as), patience_(patience) {}

  [[nodiscard]] const endpoint& to() const noexcept { return to_; }
  [[nodiscard]] bool busy() const noexcept { return busy_; }
  /// While it is not busy. `told` is called once, never from within.
  void ask(std::vector<std::string> commands, listener told);
  /// Ends the question that is under way.
  void close();

 private:
  void expired() override;
  [[nodiscard]] boost::asio::awaitable<void> run();

  const line_surroundings in_;
  const endpoint to_;
  const credentials& as_;
  const milliseconds patience_;
  std::unique_ptr<line> line_;
  std::vector<std::string> commands_;
  listener told_;
  bool busy_ = false;
  bool closed_ = false;
};

}  // namespace onceguard::redis
