// A tiered store on two memory stores that fail on demand, with its epoch metadata in memory.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/memory/memory_store.hpp"
#include "store/tiered/tiered_store.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

/// Passes calls to another store or fails the calls, and counts claims. Thread-safe, since two
/// threads call each level.
class wavering_store final : public store {
 public:
  /// late: carried out, but the reply is lost; lost: not carried out, and nobody can tell.
  enum class health { well, unreachable, late, lost };

  explicit wavering_store(store& inner) : inner_(inner) {}

  std::atomic<health> all{health::well}, claims{health::well}, settles{health::well},
      resolves{health::well};
  std::atomic<int> claims_made{0}, polls{0};
  std::atomic<bool> first_of_each_lost{
      false};                                  ///< one shard fails: the rest of a batch is answered
  std::function<void()> before_reply = [] {};  ///< called on the caller's thread
  void pretend(std::optional<onceguard::vitals> reply) {
    const std::lock_guard lock(mutex_);
    pretended_ = std::move(reply);
  }
  void announce(const std::vector<std::uint64_t>& settled) const { reported_(settled); }

  [[nodiscard]] store_traits traits() const override { return inner_.traits(); }
  boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) override {
    ++claims_made;
    const auto now = claims == health::well ? all.load() : claims.load();
    if (now == health::unreachable) co_return failed<verdict>(batch.size(), effect::none);
    const auto size = batch.size();
    auto reply = co_await inner_.claim(std::move(batch), timeout);
    if (first_of_each_lost && size > 1) reply.front() = gone(effect::none);
    before_reply();
    if (now == health::late) co_return failed<verdict>(size, effect::unknown);
    co_return reply;
  }
  boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                              milliseconds timeout) override {
    const auto now = settles == health::well ? all.load() : settles.load();
    if (now == health::unreachable) co_return failed<settled>(batch.size(), effect::none);
    if (now == health::lost) co_return failed<settled>(batch.size(), effect::unknown);
    const auto size = batch.size();
    auto reply = co_await inner_.settle(std::move(batch), timeout);
    before_reply();
    if (now == health::late) co_return failed<settled>(size, effect::unknown);
    co_return reply;
  }
  boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                           milliseconds timeout) override {
    if (out()) co_return failed<bool>(batch.size(), effect::none);
    co_return co_await inner_.extend(std::move(batch), timeout);
  }
  boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                           milliseconds timeout) override {
    if (out() || resolves == health::unreachable) co_return gone(effect::none);
    auto reply = co_await inner_.resolve(std::move(request), timeout);
    if (resolves == health::late) co_return gone(effect::unknown);
    co_return reply;
  }
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds timeout) override {
    if (out()) co_return gone(effect::none);
    co_return co_await inner_.find(id, timeout);
  }
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override {
    return inner_.list(std::move(filter), std::move(cursor), limit, timeout);
  }
  boost::asio::awaitable<result<counts>> count(std::string cursor, milliseconds timeout) override {
    return inner_.count(std::move(cursor), timeout);
  }
  boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                    milliseconds timeout) override {
    return inner_.sweep(limit, timeout);
  }
  boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override {
    if (out()) co_return gone(effect::none);
    ++polls;
    if (auto reply = pretended()) co_return std::move(*reply);
    co_return co_await inner_.vitals(timeout);
  }
  void on_settled(settled_listener listener) override { reported_ = std::move(listener); }
  void stop() override {}

 private:
  static error gone(effect effect) {
    return error(errc::store_unreachable, "unreachable, as the test wants", effect);
  }
  template <class Outcome>
  static std::vector<result<Outcome>> failed(std::size_t count, effect effect) {
    return std::vector<result<Outcome>>(count, result<Outcome>(gone(effect)));
  }
  [[nodiscard]] bool out() const { return all != health::well; }
  [[nodiscard]] std::optional<onceguard::vitals> pretended() const {
    const std::lock_guard lock(mutex_);
    return pretended_;
  }

  store& inner_;
  mutable std::mutex mutex_;
  std::optional<onceguard::vitals> pretended_;
  settled_listener reported_;
};

/// Epoch metadata as a database keeps them: the release of a completed record ends the epoch at the
/// same moment.
class memory_metadata final : public epoch_metadata {
 public:
  memory_metadata(store& truth, const base::clock& clock) : truth_(truth), clock_(clock) {}

  std::atomic<bool> out{false};
  std::function<void()> before_reading = [] {};  ///< set before a store is opened
  [[nodiscard]] int ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  [[nodiscard]] std::optional<accelerator_state> noted() const {
    const std::lock_guard lock(mutex_);
    return noted_;
  }

  boost::asio::awaitable<result<epoch_reading>> read_epoch(std::string accelerator,
                                                           milliseconds timeout) override {
    before_reading();
    if (out) co_return error(errc::store_unreachable, "the book is out of reach");
    const auto reply = co_await truth_.vitals(timeout);
    epoch_reading reading;
    reading.origin = reply->identity;
    reading.forgotten = reply->forgotten;
    reading.generation = reply->generation;
    reading.now = clock_.wall_ms();
    const std::lock_guard lock(mutex_);
    reading.epoch = std::to_string(ended_) + "/" + std::to_string(reply->forgotten);
    if (noted_ && noted_->identity == accelerator) reading.noted = noted_;
    co_return reading;
  }
  boost::asio::awaitable<result<bool>> note(accelerator_state found, std::string distrusted,
                                            milliseconds /*timeout*/) override {
    if (out) co_return error(errc::store_unreachable, "the book is out of reach");
    const std::lock_guard lock(mutex_);
    noted_ = std::move(found);
    const bool present = distrusted.starts_with(std::to_string(ended_) + "/");
    if (present) ++ended_;
    co_return present;
  }

 private:
  store& truth_;
  const base::clock& clock_;
  mutable std::mutex mutex_;
  int ended_ = 0;
  std::optional<accelerator_state> noted_;
};

class tiered_fixture : public ::testing::Test {
 protected:
  using health = wavering_store::health;

  /// One process with its tiered store.
  struct process {
    explicit process(tiered_fixture& fixture, bool without_truth = false) {
      auto upper = std::make_unique<wavering_store>(fixture.truth_);
      truth = upper.get();
      tiered::tiered_params params;
      params.interval = milliseconds(10);
      params.trusted = fixture.trusted_;
      params.clock = &fixture.clock_;
      params.replays_without_truth = without_truth;
      auto opened = tiered::tiered_store::open(std::move(upper), fixture.metadata_,
                                               fixture.factory(*this), params);
      if (!opened) throw std::runtime_error(opened.error().detail);
      store = std::move(*opened);
      caller.emplace(*store);
    }
    ~process() { store->stop(); }

    /// Makes the accelerator unreachable, and waits until the store no longer trusts the
    /// accelerator.
    void distrust() {
      fast->all = health::unreachable;
      wait_until("the breaker", [&] {
        store->poll_now();
        return !store->trusts();
      });
    }
    void wait_until_trusted() {
      wait_until("a reading of both stores", [&] {
        store->poll_now();
        return store->trusts();
      });
    }

    wavering_store* truth = nullptr;
    wavering_store* fast = nullptr;
    std::unique_ptr<tiered::tiered_store> store;
    std::optional<testing::blocking_store> caller;
  };

  tiered::accelerator_factory factory(process& peer) {
    return [this, &peer]() -> result<std::unique_ptr<store>> {
      if (no_accelerator_) return *no_accelerator_;
      auto lower = std::make_unique<wavering_store>(fast_);
      peer.fast = lower.get();
      return std::unique_ptr<store>(std::move(lower));
    };
  }

  /// The id under which the accelerator keeps the copy or marker of `request` in the present epoch.
  record_id slot_of(const claim& request) {
    boost::asio::io_context context;
    tiered::trusted_epoch present;
    const auto reading = run(context, metadata_.read_epoch({}, patience)).value();
    present.epoch = tiered::epoch_in_use(reading, fast_caller_.vitals().identity);
    return present.slot_of(request.id);
  }
  std::optional<record_view> copy_of(const claim& request) {
    return fast_caller_.find(slot_of(request));
  }
  /// Puts a marker for `request` into the accelerator, as another process would.
  void marker(const claim& request) {
    auto marker_state = claim_of("marker");
    marker_state.id = slot_of(request);
    auto about = std::make_shared<subject>();
    about->print = request.about->print;
    marker_state.about = about;
    fast_caller_.leased(marker_state);
  }
  base::manual_clock clock_;
  base::manual_clock fast_clock_;
  memory_store truth_{clock_};
  memory_store fast_{fast_clock_};
  memory_metadata metadata_{truth_, clock_};
  blocking_store truth_caller_{truth_};
  blocking_store fast_caller_{fast_};
  std::atomic<const error*> no_accelerator_{nullptr};
  milliseconds trusted_ = std::chrono::hours(1);  // long enough for a slow machine
};

}  // namespace onceguard::testing
