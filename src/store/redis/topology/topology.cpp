#include "store/redis/topology/topology.hpp"

#include <algorithm>

#include "store/redis/topology/cluster_watch.hpp"
#include "store/redis/topology/sentinel_watch.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

/// The topology of a single server.
class fixed_topology final : public topology {
 public:
  using topology::topology;
  void begin() override {
    layout found;
    found.masters.push_back({context_.address.seeds.front(), {}});
    found.owner.emplace_back(0);
    events_.on_layout(found);
  }

 private:
  [[nodiscard]] bool polling() const noexcept override { return true; }
  void go_on() override {}
};

}  // namespace

// --- one server that is polled --------------------------------------------------------------

awaitable<std::vector<reply_ptr>> topology_poller::ask(std::vector<std::string> commands) {
  busy_ = true;
  closed_ = false;
  arm(base::timer_wheel::of(context_.context), patience_);
  std::vector<reply_ptr> replies;
  std::optional<failure> why;
  try {
    if (!connection_) co_await connect();
    for (const auto& each : commands) {
      auto got = co_await connection_->ask(each);
      replies.push_back(std::move(got));
    }
  } catch (const broken& wrong) {
    why = wrong.why;
  }
  disarm();
  busy_ = false;
  if (!why) co_return replies;
  connection_.reset();
  why->text = endpoint_.text() + ": " + (closed_ ? "no answer in time" : why->text);
  throw broken{*why};
}

awaitable<void> topology_poller::connect() {
  connection_ = std::make_unique<connection>(context_, endpoint_);
  co_await connection_->connect();
  co_await connection_->log_in(as_);
}

void topology_poller::close() {
  closed_ = true;
  if (connection_) connection_->close();
}

// --- polls ----------------------------------------------------------------------------------

void topology::distrust() {
  if (std::exchange(distrusted_, true) || closed_ || polling()) return;
  const auto since = base::boot_now() - begun_;
  wait(std::max(std::chrono::duration_cast<std::chrono::milliseconds>(at_least_ - since),
                std::chrono::milliseconds(0)));
}

void topology::wait(std::chrono::milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec && !closed_) go_on();
  });
}

void topology::close() {
  closed_ = true;
  timer_.cancel();
  for (auto& [endpoint, each] : pollers_) each.close();
}

std::unique_ptr<topology> make_topology(const connection_context& context, const keyspace& names,
                                        const redis_params& params, topology_events& events) {
  switch (context.address.servers) {
    case deployment::sentinel:
      return std::make_unique<sentinel_watch>(context, params, events);
    case deployment::cluster:
      return std::make_unique<cluster_watch>(context, names, params, events);
    case deployment::single:
      break;
  }
  return std::make_unique<fixed_topology>(context, params, events, std::chrono::milliseconds(0));
}

}  // namespace onceguard::redis
