#include "store/redis/topology_poller.hpp"

#include <boost/asio/co_spawn.hpp>

#include "base/rethrow.hpp"

namespace onceguard::redis {

using boost::asio::awaitable;

void topology_poller::ask(std::vector<std::string> commands, listener receiver) {
  busy_ = true;
  closed_ = false;
  commands_ = std::move(commands);
  listener_ = std::move(receiver);
  arm(base::timer_wheel::of(in_.context), patience_);
  boost::asio::co_spawn(in_.context, run(), base::rethrow);
}

awaitable<void> topology_poller::run() {
  std::vector<reply_ptr> replies;
  std::optional<failure> why;
  try {
    if (!connection_) {
      connection_ = std::make_unique<connection>(in_, to_);
      co_await connection_->connect();
      if (closed_) give_up("the connection was not made in time");
      co_await connection_->log_in(as_);
    }
    for (const auto& each : commands_) replies.push_back(co_await connection_->ask(each));
  } catch (const broken& wrong) {
    why = wrong.why;
  } catch (const unexpected_reply& wrong) {
    why = connection_failure(wrong.what());
  }
  disarm();
  if (why) {
    connection_.reset();
    replies.clear();
    why->text = to_.text() + ": " + (closed_ ? "no answer in time" : why->text);
  }
  busy_ = false;
  const auto reply = std::exchange(listener_, {});
  reply(std::move(replies), std::move(why));
}

void topology_poller::close() {
  closed_ = true;
  if (connection_) connection_->close();
}

void topology_poller::expired() { close(); }

}  // namespace onceguard::redis
