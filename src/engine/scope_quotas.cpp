#include "engine/scope_quotas.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <list>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "engine/retention_window.hpp"

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
  auto limits = std::uint64_t{policy.quota_in_flight} << 32 | policy.quota_new_keys;
  if (scope_quotas::limits_records(policy)) {
    const std::array<std::uint64_t, 3> kept{policy.quota_live_records, policy.quota_live_bytes,
                                            static_cast<std::uint64_t>(policy.retention.count())};
    limits += base::checksum_of(
        std::string_view(reinterpret_cast<const char*>(kept.data()), sizeof kept));
  }
  // Operations that come by no route have policies all the same.
  return scope ^ (base::checksum_of(about.route) + limits) * odd;
}

/// Two records with one of these are taken for one, and who wants such a pair has to find it as
/// above.
std::uint64_t name_of_record(const record_id& id) noexcept {
  std::uint64_t out = 0;
  std::memcpy(&out, id.data(), sizeof out);
  return out;
}

}  // namespace

std::string_view name_of(scope_quotas::limit over) noexcept {
  switch (over) {
    case scope_quotas::limit::in_flight:
      return "quota_in_flight";
    case scope_quotas::limit::new_keys:
      return "quota_new_keys";
    case scope_quotas::limit::live_records:
      return "quota_live_records";
    case scope_quotas::limit::live_bytes:
      return "quota_live_bytes";
    case scope_quotas::limit::scopes:
      return "scopes";
    case scope_quotas::limit::none:
      break;
  }
  return "none";
}

/// What is counted, for as long as a slot of it is held.
class scope_quotas::counts : public std::enable_shared_from_this<counts> {
 public:
  using moment = base::boot_clock::time_point;

  explicit counts(std::size_t most) : most_(most) {}

  answer take(const record_id& id, const subject& about, const route_policy& policy, moment now);
  slot take_known(const record_id& id, const subject& about, const route_policy& policy,
                  moment now);
  void give_back(const slot::taken_parts& taken, moment now) noexcept;
  std::size_t scopes() const;

 private:
  struct counted {
    std::uint64_t scope = 0;
    std::uint32_t in_flight = 0;
    std::uint32_t rate = 0;                  ///< of its policy
    double keys = 0;                         ///< that may still come
    moment counted_at{};                     ///< `keys`
    std::unique_ptr<retention_window> left;  ///< by those that ended; null: nobody asks
  };
  using entries = std::list<counted>;

  /// Under the mutex. What is refused now, if anything is.
  static answer over_records(const counted& entry, const route_policy& policy, moment now);
  /// Under the mutex. Null: all scopes that are counted have something in flight.
  counted* find(std::uint64_t scope, const route_policy& policy, moment now);
  slot slot_of(counted& entry, std::uint64_t record, bool took_key);

  const std::size_t most_;
  mutable std::mutex mutex_;
  entries idle_;  // with nothing in flight; the one that came last is first
  entries busy_;
  std::unordered_map<std::uint64_t, entries::iterator> by_scope_;
  std::unordered_map<std::uint64_t, std::uint32_t> slots_;  // by record
};

scope_quotas::scope_quotas(std::size_t most) : counts_(std::make_shared<counts>(most)) {}

scope_quotas::slot::slot(slot&& other) noexcept
    : counted_by_(std::move(other.counted_by_)), taken_(other.taken_) {}

scope_quotas::slot& scope_quotas::slot::operator=(slot&& other) noexcept {
  if (this == &other) return *this;
  leave();
  counted_by_ = std::move(other.counted_by_);
  taken_ = other.taken_;
  return *this;
}

void scope_quotas::slot::leave(base::boot_clock::time_point now) noexcept {
  if (const auto owner = std::exchange(counted_by_, nullptr)) owner->give_back(taken_, now);
}

scope_quotas::counts::counted* scope_quotas::counts::find(std::uint64_t scope,
                                                          const route_policy& policy, moment now) {
  const double most = policy.quota_new_keys;
  const auto known = by_scope_.find(scope);
  if (known == by_scope_.end()) {
    if (by_scope_.size() >= most_) {
      if (idle_.empty()) return nullptr;
      by_scope_.erase(idle_.back().scope);
      idle_.pop_back();
    }
    entries fresh;  // so that no list has what the map could not take
    fresh.push_front({scope, 0, policy.quota_new_keys, most, now, nullptr});
    if (limits_records(policy)) {
      fresh.front().left = std::make_unique<retention_window>(policy.retention);
    }
    by_scope_.emplace(scope, fresh.begin());
    idle_.splice(idle_.begin(), fresh);
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

scope_quotas::slot scope_quotas::counts::slot_of(counted& entry, std::uint64_t record,
                                                 bool took_key) {
  ++slots_[record];
  slot out;
  out.counted_by_ = shared_from_this();
  out.taken_ = {.scope = entry.scope, .id = record, .key = took_key};
  if (entry.in_flight++ == 0)
    busy_.splice(busy_.begin(), idle_, by_scope_.find(entry.scope)->second);
  return out;
}

scope_quotas::answer scope_quotas::counts::take(const record_id& id, const subject& about,
                                                const route_policy& policy, moment now) {
  const std::lock_guard lock(mutex_);
  auto* const found = find(scope_on_route(about, policy), policy, now);
  if (found == nullptr) return {limit::scopes, soon, {}};
  const auto record = name_of_record(id);
  // The store may not have the claim of its twin yet.
  if (slots_.contains(record))
    return {limit::none, milliseconds(0), slot_of(*found, record, false)};
  if (policy.quota_in_flight != 0 && found->in_flight >= policy.quota_in_flight) {
    return {limit::in_flight, soon, {}};
  }
  if (auto over = over_records(*found, policy, now); over.over != limit::none) return over;
  const bool counts_keys = policy.quota_new_keys != 0;
  if (counts_keys && found->keys < 1) {
    const double wait = (1 - found->keys) * 1'000 / policy.quota_new_keys;
    return {limit::new_keys, milliseconds(static_cast<std::int64_t>(std::ceil(wait))), {}};
  }
  if (counts_keys) found->keys -= 1;
  return {limit::none, milliseconds(0), slot_of(*found, record, counts_keys)};
}

scope_quotas::slot scope_quotas::counts::take_known(const record_id& id, const subject& about,
                                                    const route_policy& policy, moment now) {
  const std::lock_guard lock(mutex_);
  auto* const found = find(scope_on_route(about, policy), policy, now);
  return found == nullptr ? slot() : slot_of(*found, name_of_record(id), false);
}

scope_quotas::answer scope_quotas::counts::over_records(const counted& entry,
                                                        const route_policy& policy, moment now) {
  if (!entry.left) return {};
  const std::uint64_t records = policy.quota_live_records;
  const std::uint64_t bytes = policy.quota_live_bytes;
  const auto few = [&](const stored_amount& one) { return records == 0 || one.records < records; };
  const auto small = [&](const stored_amount& one) { return bytes == 0 || one.bytes < bytes; };
  const auto both = [&](const stored_amount& one) { return few(one) && small(one); };
  const auto stored = entry.left->stored(now);
  if (const auto wait = entry.left->wait_until(both, now)) {
    return {few(stored) ? limit::live_bytes : limit::live_records, *wait, {}};
  }
  // What runs leaves a record, too, or is released soon.
  auto with_running = stored;
  with_running.records += entry.in_flight;
  if (!few(with_running)) return {limit::live_records, soon, {}};
  return {};
}

void scope_quotas::counts::give_back(const slot::taken_parts& taken, moment now) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto record = slots_.find(taken.id); --record->second == 0) slots_.erase(record);
  // What has something in flight is not forgotten.
  const auto found = by_scope_.find(taken.scope)->second;
  if (taken.record && found->left) found->left->add(taken.bytes, now);
  if (taken.key) found->keys = std::min<double>(found->rate, found->keys + 1);
  if (--found->in_flight == 0) idle_.splice(idle_.begin(), busy_, found);
}

std::size_t scope_quotas::counts::scopes() const {
  const std::lock_guard lock(mutex_);
  return by_scope_.size();
}

scope_quotas::answer scope_quotas::take(const record_id& id, const subject& about,
                                        const route_policy& policy,
                                        base::boot_clock::time_point now) {
  return counts_->take(id, about, policy, now);
}

scope_quotas::slot scope_quotas::take_known(const record_id& id, const subject& about,
                                            const route_policy& policy,
                                            base::boot_clock::time_point now) {
  return counts_->take_known(id, about, policy, now);
}

std::size_t scope_quotas::scopes() const { return counts_->scopes(); }

void scope_quotas::note_refusal(const subject& about, limit over,
                                base::boot_clock::time_point now) {
  std::uint64_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    // Routes are few; an application may name its operations as it likes.
    const bool room = refused_.size() < routes_max || refused_.contains(about.route);
    auto& route = refused_[room ? about.route : std::string()];
    ++route.count;
    const bool first = route.said_at == base::boot_clock::time_point{};
    if (!first && now - route.said_at < between_lines) return;
    route.said_at = now;
    count = std::exchange(route.count, 0);
  }
  base::log(base::event::quota_exceeded, {{"route", about.route},
                                          {"scope", base::digest_text(about.scope)},
                                          {"limit", name_of(over)},
                                          {"refused", count}});
}

}  // namespace onceguard
