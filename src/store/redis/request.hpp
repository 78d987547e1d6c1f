// Requests to Redis: commands, and the callers that wait for their replies.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "store/call.hpp"
#include "store/redis/keyspace.hpp"
#include "store/redis/redis_params.hpp"
#include "store/redis/resp.hpp"
#include "store/redis/scripts.hpp"

namespace onceguard::redis {

using steady_time = base::boot_clock::time_point;

[[nodiscard]] inline milliseconds left_until(steady_time until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - base::boot_now());
  return std::max(left, milliseconds(0));
}

/// One process of a server. A restarted server is another one.
struct server_pin {
  endpoint at;
  std::uint64_t life = 0;  ///< 0: not connected yet
  friend bool operator==(const server_pin&, const server_pin&) = default;
};

/// What a request is to those who send it.
struct request_traits {
  std::optional<record_id> about{};  ///< requests of one record are carried out in order
  std::optional<server_pin> pin{};   ///< the server that it must go to; none: the record's
  bool writes = false;
  bool grants = false;     ///< carried out, it may give its caller a lease
  bool announces = false;  ///< it ends a lease, which others may wait for
  bool repeatable = true;  ///< it may be sent again when its effect is unknown
};

/// Belongs to the pool's thread once its job was taken out of the queue.
class request {
 public:
  request() = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  virtual ~request() = default;

  /// Appends the command to the outgoing bytes.
  virtual void write(std::string& text, const script_digests& scripts,
                     const keyspace& names) const = 0;
  /// One of these two functions ends the request. The reply is not an error. May throw
  /// unexpected_reply.
  virtual void arrived(const reply& reply) = 0;
  virtual void fail(const error& why) = 0;

  request_traits traits;
  bool doubtful = false;  ///< an earlier sending has an unknown effect
};

/// A call: requests that are answered together.
class job : public call {
 public:
  explicit job(milliseconds timeout) : give_up_at_(base::boot_now() + timeout) {}

  /// When the caller stops waiting.
  [[nodiscard]] steady_time give_up_at() const noexcept { return give_up_at_; }
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  [[nodiscard]] virtual request& part(std::size_t i) noexcept = 0;
  /// One part has ended. True: it was the last one.
  [[nodiscard]] bool ended_one() noexcept { return ++ended_ == size(); }

 private:
  const steady_time give_up_at_;
  std::size_t ended_ = 0;
};

/// A call with items of one kind, one request for each. `Kind` has the types `item` and `outcome`
/// and the functions traits_of(item), write(text, scripts, names, item) and read(reply, item,
/// names).
template <class Kind>
class batch_job final : public job {
 public:
  using outcome = typename Kind::outcome;

  batch_job(std::vector<typename Kind::item> items, milliseconds timeout)
      : job(timeout), parts_(items.size()) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      parts_[i].traits = Kind::traits_of(items[i]);
      parts_[i].item = std::move(items[i]);
    }
  }
  [[nodiscard]] std::size_t size() const noexcept override { return parts_.size(); }
  [[nodiscard]] request& part(std::size_t i) noexcept override { return parts_[i]; }

  /// For the caller, once resumed: one outcome for each item.
  [[nodiscard]] std::vector<result<outcome>> outcomes() {
    std::vector<result<outcome>> out;
    out.reserve(size());
    for (auto& each : parts_) {
      if (lapse()) {
        out.push_back(*lapse());
      } else {
        out.push_back(std::move(*each.got));
      }
    }
    return out;
  }

 private:
  struct batch_part final : request {
    void write(std::string& text, const script_digests& scripts,
               const keyspace& names) const override {
      Kind::write(text, scripts, names, item);
    }
    void arrived(const reply& reply) override { got.emplace(Kind::read(reply, item)); }
    void fail(const error& why) override {
      auto mine = why;
      if (!traits.writes) mine.effect = effect::none;
      got.emplace(std::move(mine));
    }

    typename Kind::item item;
    std::optional<result<outcome>> got;
  };
  std::vector<batch_part> parts_;
};

/// Performs a call with items of one kind.
template <class Kind>
boost::asio::awaitable<std::vector<result<typename Kind::outcome>>> send_all(
    std::shared_ptr<batch_queue> queue, std::vector<typename Kind::item> items,
    milliseconds timeout) {
  const auto whole = std::make_shared<batch_job<Kind>>(std::move(items), timeout);
  co_await perform(whole, std::move(queue), timeout);
  co_return whole->outcomes();
}

template <class Kind>
boost::asio::awaitable<result<typename Kind::outcome>> send_one(std::shared_ptr<batch_queue> queue,
                                                                typename Kind::item item,
                                                                milliseconds timeout) {
  std::vector<typename Kind::item> items;
  items.push_back(std::move(item));
  auto outcomes = co_await send_all<Kind>(std::move(queue), std::move(items), timeout);
  co_return std::move(outcomes.front());
}

/// A part of a job in flight.
struct entry {
  std::shared_ptr<job> of;
  request* what = nullptr;
  std::uint64_t number = 0;  ///< in the order of arrival
  std::uint16_t request_queue = 0;
  bool queued = false;  ///< sent by its queue, not to a named server
};

}  // namespace onceguard::redis
