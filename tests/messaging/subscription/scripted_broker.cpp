#include "messaging/subscription/scripted_broker.hpp"

#include <algorithm>
#include <array>
#include <poll.h>

#include "messaging/broker_kind.hpp"

namespace onceguard::testing {
namespace {

using messaging::broker_params;
using messaging::consumer;
using messaging::delivery;
using messaging::message;
using messaging::publisher;
using queue_ptr = std::shared_ptr<scripted_queue>;

std::optional<error> next_of(std::deque<error>& refusals) {
  if (refusals.empty()) return std::nullopt;
  auto out = refusals.front();
  refusals.pop_front();
  return out;
}

class scripted_consumer final : public consumer {
 public:
  scripted_consumer(queue_ptr queue, std::size_t in_flight)
      : queue_(std::move(queue)), in_flight_(in_flight), traits_(queue_->traits) {}
  ~scripted_consumer() override {
    const std::lock_guard locked(queue_->mutex);
    for (auto& [tag, one] : queue_->held) come_again(std::move(one));
    queue_->held.clear();
  }

  [[nodiscard]] const messaging::consumer_traits& traits() const noexcept override {
    return traits_;
  }
  [[nodiscard]] result<std::vector<delivery>> receive(std::size_t most,
                                                      milliseconds wait) override {
    {
      const std::lock_guard locked(queue_->mutex);
      if (auto refused = next_of(queue_->refuse_receive)) return *refused;
    }
    auto out = take(most);
    if (!out.empty()) return out;
    ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(wait.count(), 5)));
    return take(most);
  }
  [[nodiscard]] std::vector<messaging::dropped_message> take_dropped() override {
    const std::lock_guard locked(queue_->mutex);
    return std::exchange(queue_->dropped, {});
  }
  [[nodiscard]] result<void> stop_intake() override {
    stopped_ = true;
    return {};
  }
  [[nodiscard]] result<void> extend(std::uint64_t tag) override {
    const std::lock_guard locked(queue_->mutex);
    if (auto refused = next_of(queue_->refuse_extend)) return *refused;
    if (!queue_->held.contains(tag)) return error(errc::not_found, "not held");
    ++queue_->extended;
    return {};
  }
  [[nodiscard]] result<void> acknowledge(std::uint64_t tag) override {
    const std::lock_guard locked(queue_->mutex);
    if (auto refused = next_of(queue_->refuse_acknowledge)) return *refused;
    return end(tag, queue_->acknowledged);
  }
  [[nodiscard]] result<void> give_back(std::uint64_t tag, milliseconds /*delay*/) override {
    const std::lock_guard locked(queue_->mutex);
    ++queue_->give_back_calls;
    if (!stopped_) ++queue_->given_back_amid_intake;
    if (auto refused = next_of(queue_->refuse_give_back)) return *refused;
    const auto found = queue_->held.find(tag);
    if (found == queue_->held.end()) return error(errc::not_found, "not held");
    auto again = found->second;
    auto ended = end(tag, queue_->given_back);
    come_again(std::move(again));
    return ended;
  }
  [[nodiscard]] result<void> dead_letter(std::uint64_t tag) override {
    const std::lock_guard locked(queue_->mutex);
    if (!traits_.dead_letters) return error(errc::invalid_argument, "no dead letters here");
    return end(tag, queue_->dead);
  }
  [[nodiscard]] result<std::optional<std::uint64_t>> backlog() override {
    const std::lock_guard locked(queue_->mutex);
    return std::optional<std::uint64_t>(queue_->waiting.size());
  }

 private:
  /// As a broker does that counts: at the limit the message is dropped.
  void come_again(delivery one) {
    if (queue_->delivery_limit > 0 && one.count >= queue_->delivery_limit) {
      queue_->lost_at_limit.push_back(one.received.payload);
      return;
    }
    ++one.count;
    queue_->waiting.push_back(std::move(one));
  }
  std::vector<delivery> take(std::size_t most) {
    const std::lock_guard locked(queue_->mutex);
    std::vector<delivery> out;
    const auto room = [this] {
      return !queue_->limits_what_is_held || queue_->held.size() < in_flight_;
    };
    while (out.size() < most && room() && !queue_->waiting.empty()) {
      auto one = std::move(queue_->waiting.front());
      queue_->waiting.pop_front();
      one.tag = next_tag_++;
      queue_->held.emplace(one.tag, one);
      out.push_back(std::move(one));
    }
    queue_->held_most = std::max(queue_->held_most, queue_->held.size());
    return out;
  }
  result<void> end(std::uint64_t tag, std::vector<std::string>& list) {
    const auto found = queue_->held.find(tag);
    if (found == queue_->held.end()) return error(errc::not_found, "not held");
    list.push_back(found->second.received.payload);
    queue_->held.erase(found);
    return {};
  }

  const queue_ptr queue_;
  const std::size_t in_flight_;
  const messaging::consumer_traits traits_;
  /// As most brokers' clients number: anew with each connection.
  std::uint64_t next_tag_ = 1;
  bool stopped_ = false;
};

class scripted_publisher final : public publisher {
 public:
  explicit scripted_publisher(queue_ptr queue) : queue_(std::move(queue)) {}
  [[nodiscard]] result<void> publish(std::span<const message> batch) override {
    const std::lock_guard locked(queue_->mutex);
    ++queue_->publish_calls;
    if (auto refused = next_of(queue_->refuse_publish)) return *refused;
    queue_->published.insert(queue_->published.end(), batch.begin(), batch.end());
    return {};
  }

  [[nodiscard]] std::vector<messaging::publication> progress() const override {
    return queue_->progress;
  }
  [[nodiscard]] result<void> await_answers() override {
    const std::lock_guard lock(queue_->mutex);
    if (auto refused = next_of(queue_->refuse_await)) return *refused;
    std::replace(queue_->progress.begin(), queue_->progress.end(),
                 messaging::publication::on_its_way, messaging::publication::stored);
    return {};
  }

 private:
  const queue_ptr queue_;
};

queue_ptr named_by(const broker_params& params) {
  return scripted_queue_of(params.url.substr(params.url.rfind('/') + 1));
}

const std::array<std::string_view, 1> schemes{"test"};

const messaging::broker_kind kind{
    .schemes = schemes,
    .consumer_example = "test://broker/QUEUE",
    .publisher_example = "test://broker/QUEUE",
    .url_fault = [](std::string_view, messaging::broker_role) { return std::string(); },
    .open_consumer = [](const broker_params& params) -> result<std::unique_ptr<consumer>> {
      const auto queue = named_by(params);
      const std::lock_guard locked(queue->mutex);
      if (auto refused = next_of(queue->refuse_open)) return *refused;
      ++queue->connections;
      return std::unique_ptr<consumer>(new scripted_consumer(queue, params.in_flight));
    },
    .open_publisher = [](const broker_params& params) -> result<std::unique_ptr<publisher>> {
      const auto queue = named_by(params);
      const std::lock_guard locked(queue->mutex);
      if (auto refused = next_of(queue->refuse_open)) return *refused;
      return std::unique_ptr<publisher>(new scripted_publisher(queue));
    },
};

const messaging::broker_registration registration(kind);

}  // namespace

void scripted_queue::put(const std::string& payload, const std::string& id,
                         const std::string& key) {
  const std::lock_guard locked(mutex);
  delivery one;
  one.received.payload = payload;
  one.received.properties.emplace_back("message_id", id);
  one.received.order_key = key;
  waiting.push_back(std::move(one));
}

std::size_t scripted_queue::settled() {
  const std::lock_guard locked(mutex);
  return acknowledged.size() + dead.size();
}

std::shared_ptr<scripted_queue> scripted_queue_of(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, queue_ptr> all;
  const std::lock_guard locked(mutex);
  auto& found = all[name];
  if (!found) found = std::make_shared<scripted_queue>();
  return found;
}

}  // namespace onceguard::testing
