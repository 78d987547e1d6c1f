#include "store/redis/subscriber.hpp"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/hash.hpp"
#include "base/rethrow.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

constexpr std::int64_t pause_first_ms = 50;
constexpr std::int64_t pause_most_ms = 2'000;
// A missing permission may be granted later.
constexpr std::chrono::milliseconds refused_pause{30'000};

/// The ids in a message, each as its first 8 bytes, as a big-endian number.
void append_prefixes(std::vector<std::uint64_t>& out, std::string_view message) {
  for (; message.size() >= sizeof(std::uint64_t); message.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t one = 0;
    for (const char c : message.substr(0, sizeof one))
      one = one << 8 | static_cast<unsigned char>(c);
    out.push_back(one);
  }
}

}  // namespace

subscriber::subscriber(subscription& subscription) : of_(subscription) {
  // The files of the certificates were read when the store was opened.
  if (auto tls = make_tls(subscription.at_)) tls_ = std::move(*tls);
  boost::asio::co_spawn(context_, live(), base::rethrow);
  thread_ = std::thread([this] { context_.run(); });
}

subscriber::~subscriber() {
  boost::asio::post(context_, [this] {
    stopping_ = true;
    pause_.cancel();
    if (connection_) connection_->close();
  });
  thread_.join();
}

void subscriber::expired() { connection_->close(); }

awaitable<void> subscriber::live() {
  while (!stopping_) {
    const auto why = co_await read();
    disarm();
    if (stopping_) break;
    pause_.expires_after(next_pause(why));
    boost::system::error_code cancelled;
    co_await pause_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
  }
}

awaitable<failure> subscriber::read() {
  subscribed_ = false;
  const auto servers = of_.servers_();
  if (servers.empty()) co_return connection_failure("no server is known");
  const connection_context made{context_, of_.at_, tls_ ? &*tls_ : nullptr};
  connection_.emplace(made, servers[turn_++ % servers.size()]);
  arm(base::timer_wheel::of(context_), of_.timeout_);
  try {
    co_await connection_->connect();
    co_await connection_->log_in(of_.at_.login);
    co_await subscribe();
    disarm();
    subscribed_ = true;
    failures_ = 0;
    while (!stopping_) {
      co_await connection_->receive();
      take_messages();
    }
  } catch (const broken& wrong) {
    co_return wrong.why;
  } catch (const unexpected_reply& wrong) {
    co_return connection_failure(wrong.what());
  }
  co_return connection_failure("it is not wanted any more");
}

awaitable<void> subscriber::subscribe() {
  // An empty message is ignored by listeners, and shows whether this user may publish: a settle
  // does not fail without the permission. Others may still publish, so the subscription goes on.
  const auto published = co_await connection_->ask(words("PUBLISH", of_.channel_, ""));
  if (const reply reply(*published); reply.is_error()) {
    const auto why = failure_of(reply.text());
    if (why.code != "NOPERM") throw broken{why};
    of_.log_refusal(why.text);
  }
  const auto subscribed = co_await connection_->ask(words("SUBSCRIBE", of_.channel_));
  const reply reply(*subscribed);
  if (!reply.is_error()) co_return;
  const auto why = failure_of(reply.text());
  if (why.code == "NOPERM") of_.log_refusal(why.text);
  throw broken{why};
}

void subscriber::take_messages() {
  while (const auto got = connection_->next_reply()) {
    const reply reply(*got);
    if (reply.is_error()) throw broken{failure_of(reply.text())};
    if (!reply.is_array() || reply.at(0).text() != "message") continue;
    append_prefixes(ended_, reply.at(2).text());
  }
  if (ended_.empty()) return;
  of_.tell(ended_);
  ended_.clear();
}

/// No pause after a connection that had worked, otherwise a growing one.
std::chrono::milliseconds subscriber::next_pause(const failure& why) {
  if (why.misconfigured) return refused_pause;
  if (subscribed_) return std::chrono::milliseconds(0);
  const auto round = std::min(failures_++, 8u);
  const auto pause = std::min(pause_first_ms << round, pause_most_ms);
  std::array<unsigned char, 1> random{};
  base::random_bytes(random);
  // Between half and all of the pause, so that processes don't come back all at once.
  return std::chrono::milliseconds(pause * (256 + random[0]) / 512);
}

}  // namespace onceguard::redis
