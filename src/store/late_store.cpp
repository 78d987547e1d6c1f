#include "store/late_store.hpp"

#include <condition_variable>

#include "base/log.hpp"

namespace onceguard {
namespace {

using boost::asio::awaitable;

// Reasons that change from one attempt to the next must not fill the log.
constexpr milliseconds changed_interval{5'000};

constexpr auto retry_hint =
    "it is tried again until it opens; until then guarded requests get 503, or run unguarded where "
    "store_failure = \"open\"; onceguard doctor says more";
constexpr auto damaged_hint =
    "it is not tried again: put it right as the reason says, and start the gateway again; until "
    "then guarded requests get 503, or run unguarded where store_failure = \"open\"";

template <class Outcome>
awaitable<std::vector<result<Outcome>>> refuse_each(std::size_t count, error why) {
  co_return std::vector<result<Outcome>>(count, result<Outcome>(std::move(why)));
}

template <class Outcome>
awaitable<result<Outcome>> refuse(error why) {
  co_return why;
}

}  // namespace

late_store::late_store(store_traits known, opener open, clock::time_point begun)
    : known_(std::move(known)), open_(std::move(open)), since_(begun) {}

result<std::unique_ptr<late_store>> late_store::open(store_traits known, opener open) {
  std::unique_ptr<late_store> made(
      new late_store(std::move(known), std::move(open), base::boot_now()));
  auto first = made->open_();
  if (first) {
    made->take(std::move(*first));
    return made;
  }
  if (first.error().code == errc::invalid_argument) return first.error();
  made->fail(first.error());
  made->thread_ = std::jthread(
      [&late = *made](const std::stop_token& stopping) { late.keep_trying(stopping); });
  return made;
}

void late_store::keep_trying(const std::stop_token& stopping) {
  std::mutex mutex;
  std::condition_variable_any stop_requested;
  const auto pause_until = [&](clock::time_point time) {
    const auto left = time - base::boot_now();
    std::unique_lock lock(mutex);
    stop_requested.wait_for(lock, stopping, left, [] { return false; });
  };
  auto next = since_ + retry_interval;
  while (pause_until(next), !stopping.stop_requested()) {
    next = base::boot_now() + retry_interval;
    if (damaged_) {
      remind(*damaged_);
      continue;
    }
    auto attempt = open_();
    if (attempt) return take(std::move(*attempt));
    fail(attempt.error());
  }
}

void late_store::take(std::unique_ptr<store> opened) {
  const std::lock_guard lock(mutex_);
  owned_ = std::move(opened);
  if (listener_) owned_->on_settled(std::exchange(listener_, nullptr));
  opened_.store(owned_.get(), std::memory_order_release);
  if (!refusal_) return;
  const auto lasted = std::chrono::duration_cast<milliseconds>(base::boot_now() - since_);
  base::log(base::event::store_opened, {{"store", known_.name}, {"after_ms", lasted.count()}});
}

void late_store::fail(const error& why) {
  if (why.code == errc::store_lost) damaged_ = why;
  {
    const std::lock_guard lock(mutex_);
    refusal_ = error(errc::store_unreachable, why.detail);
  }
  remind(why);
}

/// Logs at once what is new, and again what lasts.
void late_store::remind(const error& why) {
  const auto now = base::boot_now();
  const auto pause = why.detail == logged_ ? reminder_interval : changed_interval;
  if (!logged_.empty() && now - logged_at_ < pause) return;
  logged_ = why.detail;
  logged_at_ = now;
  const auto lasted = std::chrono::duration_cast<milliseconds>(now - since_);
  base::log(base::event::store_not_opened, {{"store", known_.name},
                                            {"why", why.detail},
                                            {"for_ms", lasted.count()},
                                            {"hint", damaged_ ? damaged_hint : retry_hint}});
}

error late_store::refusal() const {
  const std::lock_guard lock(mutex_);
  return *refusal_;
}

std::optional<late_store::absence> late_store::why_not_open() const {
  if (opened() != nullptr) return std::nullopt;
  return absence{refusal().detail, since_};
}

store_traits late_store::traits() const {
  const auto* target = opened();
  return target != nullptr ? target->traits() : known_;
}

awaitable<std::vector<result<verdict>>> late_store::claim(std::vector<onceguard::claim> batch,
                                                          milliseconds timeout) {
  if (auto* target = opened()) return target->claim(std::move(batch), timeout);
  return refuse_each<verdict>(batch.size(), refusal());
}

awaitable<std::vector<result<settled>>> late_store::settle(std::vector<settlement> batch,
                                                           milliseconds timeout) {
  if (auto* target = opened()) return target->settle(std::move(batch), timeout);
  return refuse_each<settled>(batch.size(), refusal());
}

awaitable<std::vector<result<bool>>> late_store::extend(std::vector<extension> batch,
                                                        milliseconds timeout) {
  if (auto* target = opened()) return target->extend(std::move(batch), timeout);
  return refuse_each<bool>(batch.size(), refusal());
}

awaitable<result<resolve_decision>> late_store::resolve(resolution request, milliseconds timeout) {
  if (auto* target = opened()) return target->resolve(std::move(request), timeout);
  return refuse<resolve_decision>(refusal());
}

awaitable<result<std::optional<record_view>>> late_store::find(record_id id, milliseconds timeout) {
  if (auto* target = opened()) return target->find(id, timeout);
  return refuse<std::optional<record_view>>(refusal());
}

awaitable<result<list_page>> late_store::list(list_filter filter, std::string cursor,
                                              std::size_t limit, milliseconds timeout) {
  if (auto* target = opened()) {
    return target->list(std::move(filter), std::move(cursor), limit, timeout);
  }
  return refuse<list_page>(refusal());
}

awaitable<result<counts>> late_store::count(std::string cursor, milliseconds timeout) {
  if (auto* target = opened()) return target->count(std::move(cursor), timeout);
  return refuse<counts>(refusal());
}

awaitable<result<import_outcome>> late_store::import_record(imported_record brought,
                                                            milliseconds timeout) {
  if (auto* target = opened()) return target->import_record(std::move(brought), timeout);
  return refuse<import_outcome>(refusal());
}

awaitable<result<std::size_t>> late_store::sweep(std::size_t limit, milliseconds timeout) {
  if (auto* target = opened()) return target->sweep(limit, timeout);
  return refuse<std::size_t>(refusal());
}

awaitable<result<onceguard::vitals>> late_store::vitals(milliseconds timeout) {
  if (auto* target = opened()) return target->vitals(timeout);
  return refuse<onceguard::vitals>(refusal());
}

awaitable<result<void>> late_store::check_writes(milliseconds timeout) {
  if (auto* target = opened()) return target->check_writes(timeout);
  return refuse<void>(refusal());
}

void late_store::on_settled(settled_listener listener) {
  const std::lock_guard lock(mutex_);
  if (owned_) return owned_->on_settled(std::move(listener));
  listener_ = std::move(listener);
}

std::vector<store_number> late_store::numbers() const {
  const auto* target = opened();
  return target == nullptr ? std::vector<store_number>() : target->numbers();
}

void late_store::stop() {
  const std::lock_guard lock(stopping_);
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  if (auto* target = opened()) return target->stop();
  const std::lock_guard guard(mutex_);
  refusal_ = error(errc::stopped, "the store was stopped");
}

}  // namespace onceguard
