#include "store/redis/scout.hpp"

#include <boost/asio/co_spawn.hpp>

#include "base/rethrow.hpp"

namespace onceguard::redis {

using boost::asio::awaitable;

void scout::ask(std::vector<std::string> commands, listener told) {
  busy_ = true;
  closed_ = false;
  commands_ = std::move(commands);
  told_ = std::move(told);
  arm(base::watchdog::of(in_.context), patience_);
  boost::asio::co_spawn(in_.context, run(), base::rethrow);
}

awaitable<void> scout::run() {
  std::vector<reply_ptr> replies;
  std::optional<failure> why;
  try {
    if (!line_) {
      line_ = std::make_unique<line>(in_, to_);
      co_await line_->connect();
      if (closed_) give_up("the connection was not made in time");
      co_await line_->log_in(as_);
    }
    for (const auto& each : commands_) replies.push_back(co_await line_->ask(each));
  } catch (const broken& wrong) {
    why = wrong.why;
  } catch (const unexpected_reply& wrong) {
    why = own_failure(wrong.what());
  }
  disarm();
  if (why) {
    line_.reset();
    replies.clear();
    why->text = to_.text() + ": " + (closed_ ? "no answer in time" : why->text);
  }
  busy_ = false;
  const auto told = std::exchange(told_, {});
  told(std::move(replies), std::move(why));
}

void scout::close() {
  closed_ = true;
  if (line_) line_->close();
}

void scout::expired() { close(); }

}  // namespace onceguard::redis
