#include "engine/scope_quotas.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"

namespace onceguard {
namespace {

/// Nobody knows when a running operation ends.
constexpr milliseconds soon{1'000};
constexpr std::chrono::minutes between_lines{1};
constexpr std::size_t routes_max = 1'024;

/// Two scopes with one of these share a quota, and who wants to find such a pair has to find it
/// among digests of SHA-256.
std::uint64_t scope_on_route(const subject& about, const route_policy& policy) noexcept {
  std::uint64_t scope = 0;
  std::memcpy(&scope, about.scope.data(), sizeof scope);
  constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;
  const auto limits = std::uint64_t{policy.quota_in_flight} << 32 | policy.quota_new_keys;
  // Operations that come by no route have policies all the same.
  return scope ^ (base::checksum_of(about.route) + limits) * odd;
}

}  // namespace

std::string_view name_of(scope_quotas::limit over) noexcept {
  switch (over) {
    case scope_quotas::limit::in_flight:
      return "quota_in_flight";
    case scope_quotas::limit::new_keys:
      return "quota_new_keys";
    case scope_quotas::limit::scopes:
      return "scopes";
    case scope_quotas::limit::none:
      break;
  }
  return "none";
}

scope_quotas::slot::slot(slot&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      scope_(other.scope_),
      took_key_(other.took_key_) {}

scope_quotas::slot& scope_quotas::slot::operator=(slot&& other) noexcept {
  if (this == &other) return *this;
  leave();
  owner_ = std::exchange(other.owner_, nullptr);
  scope_ = other.scope_;
  took_key_ = other.took_key_;
  return *this;
}

void scope_quotas::slot::leave() noexcept {
  if (auto* const owner = std::exchange(owner_, nullptr)) owner->give_back(scope_, took_key_);
}

scope_quotas::counted* scope_quotas::find(std::uint64_t scope, const route_policy& policy,
                                          moment now) {
  const double most = policy.quota_new_keys;
  const auto known = by_scope_.find(scope);
  if (known == by_scope_.end()) {
    if (by_scope_.size() >= most_) {
      if (idle_.empty()) return nullptr;
      by_scope_.erase(idle_.back().scope);
      idle_.pop_back();
    }
    idle_.push_front({scope, 0, policy.quota_new_keys, most, now});
    by_scope_.emplace(scope, idle_.begin());
    return &idle_.front();
  }
  auto& found = *known->second;
  // Who is refused is not to be forgotten for it.
  if (found.in_flight == 0) idle_.splice(idle_.begin(), idle_, known->second);
  const std::chrono::duration<double> passed = now - found.counted_at;
  found.keys = std::min(most, found.keys + std::max(passed.count(), 0.0) * most);
  // Of two threads, the one that has looked at the clock first may come second.
  found.counted_at = std::max(found.counted_at, now);
  return &found;
}

scope_quotas::slot scope_quotas::slot_of(counted& entry, bool took_key) noexcept {
  slot out;
  out.owner_ = this;
  out.scope_ = entry.scope;
  out.took_key_ = took_key;
  if (entry.in_flight++ == 0)
    busy_.splice(busy_.begin(), idle_, by_scope_.find(entry.scope)->second);
  return out;
}

scope_quotas::answer scope_quotas::take(const subject& about, const route_policy& policy,
                                        moment now) {
  const std::lock_guard lock(mutex_);
  auto* const found = find(scope_on_route(about, policy), policy, now);
  if (found == nullptr) return {limit::scopes, soon, {}};
  if (policy.quota_in_flight != 0 && found->in_flight >= policy.quota_in_flight) {
    return {limit::in_flight, soon, {}};
  }
  const bool counts_keys = policy.quota_new_keys != 0;
  if (counts_keys && found->keys < 1) {
    const double wait = (1 - found->keys) * 1'000 / policy.quota_new_keys;
    return {limit::new_keys, milliseconds(static_cast<std::int64_t>(std::ceil(wait))), {}};
  }
  if (counts_keys) found->keys -= 1;
  return {limit::none, milliseconds(0), slot_of(*found, counts_keys)};
}

scope_quotas::slot scope_quotas::take_known(const subject& about, const route_policy& policy,
                                            moment now) {
  const std::lock_guard lock(mutex_);
  auto* const found = find(scope_on_route(about, policy), policy, now);
  return found == nullptr ? slot() : slot_of(*found, false);
}

void scope_quotas::give_back(std::uint64_t scope, bool key) noexcept {
  const std::lock_guard lock(mutex_);
  // What has something in flight is not forgotten.
  const auto found = by_scope_.find(scope)->second;
  if (key) found->keys = std::min<double>(found->rate, found->keys + 1);
  if (--found->in_flight == 0) idle_.splice(idle_.begin(), busy_, found);
}

void scope_quotas::note_refusal(const subject& about, limit over, moment now) {
  std::uint64_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    // Routes are few; an application may name its operations as it likes.
    const bool room = refused_.size() < routes_max || refused_.contains(about.route);
    auto& route = refused_[room ? about.route : std::string()];
    ++route.count;
    const bool first = route.said_at == moment{};
    if (!first && now - route.said_at < between_lines) return;
    route.said_at = now;
    count = std::exchange(route.count, 0);
  }
  base::log(base::event::quota_exceeded, {{"route", about.route},
                                          {"scope", base::digest_text(about.scope)},
                                          {"limit", name_of(over)},
                                          {"refused", count}});
}

std::size_t scope_quotas::scopes() const {
  const std::lock_guard lock(mutex_);
  return by_scope_.size();
}

}  // namespace onceguard
