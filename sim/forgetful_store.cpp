#include "forgetful_store.hpp"

#include <algorithm>
#include <utility>

namespace onceguard::sim {

using boost::asio::awaitable;

namespace {

constexpr std::int64_t long_ago = 1'700'000'000'000;

/// A record of no key, which only keeps tokens from coming again.
imported_record mark_of(token highest) {
  imported_record out;
  out.id.fill(0xff);
  // Another one each time: a record that is there is not replaced.
  for (std::size_t i = 0; i < 8; ++i) out.id[i] = static_cast<unsigned char>(highest >> (8 * i));
  out.stored.about = std::make_shared<subject>();
  out.stored.state = record_state::released;
  out.stored.token = highest;
  return out;
}

}  // namespace

std::int64_t forgetful_store::moment_clock::boot_ms() const noexcept {
  if (stands) return boot;
  return by_wall ? wall_ms() - long_ago : base::system_clock().boot_ms();
}

std::int64_t forgetful_store::moment_clock::wall_ms() const noexcept {
  return stands ? wall : base::system_clock().wall_ms();
}

const std::string& forgetful_store::moment_clock::boot_id() const noexcept {
  return base::system_clock().boot_id();
}

forgetful_store::forgetful_store(bool by_wall_clock)
    : clock_(by_wall_clock), begun_boot_(clock_.boot_ms()), begun_wall_(clock_.wall_ms()) {
  // Begun at the very moment that is played again: a store counts its tokens from that time.
  clock_.boot = begun_boot_;
  clock_.wall = begun_wall_;
  clock_.stands = true;
  real_ = std::make_unique<memory_store>(clock_);
  clock_.stands = false;
}

forgetful_store::one_moment forgetful_store::note(act again) {
  log_.push_back(
      {base::system_clock().boot_ms(), clock_.boot_ms(), clock_.wall_ms(), std::move(again)});
  return {clock_, log_.back()};
}

awaitable<std::vector<result<verdict>>> forgetful_store::claim(std::vector<onceguard::claim> batch,
                                                               milliseconds timeout) {
  const auto moment = note([batch](store& there) -> awaitable<void> {
    static_cast<void>(co_await there.claim(batch, milliseconds(0)));
  });
  auto replies = co_await real_->claim(std::move(batch), timeout);
  for (const auto& each : replies) {
    if (each) highest_ = std::max(highest_, each->lease.token);
  }
  co_return replies;
}

awaitable<std::vector<result<settled>>> forgetful_store::settle(std::vector<settlement> batch,
                                                                milliseconds timeout) {
  const auto moment = note([batch](store& there) -> awaitable<void> {
    static_cast<void>(co_await there.settle(batch, milliseconds(0)));
  });
  co_return co_await real_->settle(std::move(batch), timeout);
}

awaitable<std::vector<result<bool>>> forgetful_store::extend(std::vector<extension> batch,
                                                             milliseconds timeout) {
  const auto moment = note([batch](store& there) -> awaitable<void> {
    static_cast<void>(co_await there.extend(batch, milliseconds(0)));
  });
  co_return co_await real_->extend(std::move(batch), timeout);
}

awaitable<result<resolve_decision>> forgetful_store::resolve(resolution request,
                                                             milliseconds timeout) {
  const auto moment = note([request](store& there) -> awaitable<void> {
    static_cast<void>(co_await there.resolve(request, milliseconds(0)));
  });
  co_return co_await real_->resolve(std::move(request), timeout);
}

awaitable<result<std::size_t>> forgetful_store::sweep(std::size_t limit, milliseconds timeout) {
  const auto moment = note([limit](store& there) -> awaitable<void> {
    static_cast<void>(co_await there.sweep(limit, milliseconds(0)));
  });
  co_return co_await real_->sweep(limit, timeout);
}

awaitable<void> forgetful_store::forget(milliseconds length) {
  const auto until = base::system_clock().boot_ms() - length.count();
  std::erase_if(log_, [until](const written& each) { return each.moment > until; });
  clock_.stands = true;
  clock_.boot = begun_boot_;
  clock_.wall = begun_wall_;
  auto before = std::make_unique<memory_store>(clock_);
  for (const auto& each : log_) {
    clock_.boot = each.boot;
    clock_.wall = each.wall;
    co_await each.again(*before);
  }
  clock_.stands = false;
  real_ = std::move(before);
  const auto mark = mark_of(highest_);
  const auto moment = note([mark](store& there) -> awaitable<void> {
    static_cast<void>(co_await there.import_record(mark, milliseconds(0)));
  });
  co_await log_.back().again(*real_);
}

}  // namespace onceguard::sim
