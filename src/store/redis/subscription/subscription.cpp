#include "store/redis/subscription/subscription.hpp"

#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.hpp"
#include "base/rethrow.hpp"
#include "base/timer_wheel.hpp"
#include "store/redis/transport/connection.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

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

/// The connection, which is opened again after each break, and its thread.
class subscription::subscriber final : private base::deadline {
 public:
  explicit subscriber(subscription& owner);
  ~subscriber() override;

 private:
  void expired() override;
  [[nodiscard]] boost::asio::awaitable<void> live();
  /// Reads messages until the connection breaks.
  [[nodiscard]] boost::asio::awaitable<failure> read();
  [[nodiscard]] boost::asio::awaitable<void> subscribe();
  void take_messages();
  [[nodiscard]] std::chrono::milliseconds next_pause(const failure& why);

  subscription& owner_;
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

subscription::subscriber::subscriber(subscription& owner) : owner_(owner) {
  // The files of the certificates were read when the store was opened.
  if (auto tls = make_tls(owner.address_)) tls_ = std::move(*tls);
  boost::asio::co_spawn(context_, live(), base::rethrow);
  thread_ = std::thread([this] { context_.run(); });
}

subscription::subscriber::~subscriber() {
  boost::asio::post(context_, [this] {
    stopping_ = true;
    pause_.cancel();
    if (connection_) connection_->close();
  });
  thread_.join();
}

void subscription::subscriber::expired() { connection_->close(); }

awaitable<void> subscription::subscriber::live() {
  while (!stopping_) {
    const auto why = co_await read();
    disarm();
    if (stopping_) break;
    pause_.expires_after(next_pause(why));
    boost::system::error_code cancelled;
    co_await pause_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
  }
}

awaitable<failure> subscription::subscriber::read() {
  subscribed_ = false;
  const auto servers = owner_.servers_();
  if (servers.empty()) co_return connection_failure("no server is known");
  const connection_context made{context_, owner_.address_, tls_ ? &*tls_ : nullptr};
  connection_.emplace(made, servers[turn_++ % servers.size()]);
  arm(base::timer_wheel::of(context_), owner_.timeout_);
  try {
    co_await connection_->connect();
    co_await connection_->log_in(owner_.address_.login);
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
  }
  co_return connection_failure("it is not wanted any more");
}

awaitable<void> subscription::subscriber::subscribe() {
  // An empty message is ignored by listeners, and shows whether this user may publish: a settle
  // does not fail without the permission. Others may still publish, so the subscription goes on.
  const auto published = co_await connection_->ask(words("PUBLISH", owner_.channel_, ""));
  if (const reply reply(*published); reply.is_error()) {
    const auto why = failure_of(reply.text());
    if (why.code != "NOPERM") throw broken{why};
    owner_.log_refusal(why.text);
  }
  const auto subscribed = co_await connection_->ask(words("SUBSCRIBE", owner_.channel_));
  const reply reply(*subscribed);
  if (!reply.is_error()) co_return;
  const auto why = failure_of(reply.text());
  if (why.code == "NOPERM") owner_.log_refusal(why.text);
  throw broken{why};
}

void subscription::subscriber::take_messages() {
  while (const auto got = connection_->next_reply()) {
    const reply reply(*got);
    if (reply.is_error()) throw broken{failure_of(reply.text())};
    if (!reply.is_array() || reply.at(0).text() != "message") continue;
    append_prefixes(ended_, reply.at(2).text());
  }
  if (ended_.empty()) return;
  owner_.tell(ended_);
  ended_.clear();
}

/// No pause after a connection that had worked, otherwise a growing one.
std::chrono::milliseconds subscription::subscriber::next_pause(const failure& why) {
  if (why.misconfigured) return refused_pause;
  if (subscribed_) return std::chrono::milliseconds(0);
  return pause_after(failures_++);
}

// --- the subscription -----------------------------------------------------------------------

subscription::subscription(address address, std::string channel, servers_now servers,
                           milliseconds timeout)
    : address_(std::move(address)),
      channel_(std::move(channel)),
      servers_(std::move(servers)),
      timeout_(timeout) {}

subscription::~subscription() { stop(); }

void subscription::listen(settled_listener listener) {
  const std::lock_guard change(changing_);
  const bool wanted = listener != nullptr && !stopped_;
  {
    const std::lock_guard lock(telling_);
    listener_ = wanted ? std::move(listener) : nullptr;
  }
  if (!wanted) {
    reading_.reset();
  } else if (!reading_) {
    reading_ = std::make_unique<subscriber>(*this);
  }
}

void subscription::stop() {
  {
    const std::lock_guard change(changing_);
    stopped_ = true;
  }
  listen(nullptr);
}

void subscription::tell(const std::vector<std::uint64_t>& settled) {
  const std::lock_guard lock(telling_);
  if (listener_) listener_(settled);
}

void subscription::log_refusal(const std::string& why) {
  if (refusal_logged_.exchange(true)) return;
  base::log(base::event::subscription_refused,
            {{"store", address_.name}, {"channel", channel_}, {"why", why}});
}

}  // namespace onceguard::redis
