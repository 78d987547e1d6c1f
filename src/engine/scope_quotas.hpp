// How much each scope may bring to a route at once: operations in flight, and new keys in a second.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// Counts by scope, route and limits, in this process. Its memory is bounded: of more scopes than
/// that, those are forgotten that have nothing in flight and came longest ago, as if they had come
/// for the first time. Thread-safe. Must outlive its slots.
class scope_quotas {
 public:
  static constexpr std::size_t scopes_max = 65'536;

  explicit scope_quotas(std::size_t most = scopes_max) : most_(most) {}
  scope_quotas(const scope_quotas&) = delete;
  scope_quotas& operator=(const scope_quotas&) = delete;

  /// What a claim has taken. Destroyed, it gives all of it back: an operation that was granted
  /// keeps its new key, and lives as long as the slot.
  class slot {
   public:
    slot() = default;
    slot(slot&& other) noexcept;
    slot& operator=(slot&& other) noexcept;
    ~slot() { leave(); }

    [[nodiscard]] bool taken() const noexcept { return owner_ != nullptr; }
    /// The key that was taken is a new one.
    void keep_key() noexcept { took_key_ = false; }
    void leave() noexcept;

   private:
    friend class scope_quotas;
    scope_quotas* owner_ = nullptr;
    std::uint64_t scope_ = 0;
    bool took_key_ = false;
  };

  /// What a scope has used up.
  enum class limit : std::uint8_t { none, in_flight, new_keys, scopes };
  struct answer {
    limit over = limit::none;
    milliseconds retry_after{0};
    slot held;
  };

  /// Whether the policy has a quota at all.
  [[nodiscard]] static bool applies_to(const route_policy& policy) noexcept {
    return policy.quota_in_flight != 0 || policy.quota_new_keys != 0;
  }
  /// For a claim that may be of a new key.
  [[nodiscard]] answer take(const subject& about, const route_policy& policy,
                            base::boot_clock::time_point now);
  /// For a claim of a key that is known: counted, and never refused.
  [[nodiscard]] slot take_known(const subject& about, const route_policy& policy,
                                base::boot_clock::time_point now);

  /// A new key was refused. Logs it once a minute for each route.
  void note_refusal(const subject& about, limit over, base::boot_clock::time_point now);

  [[nodiscard]] std::size_t scopes() const;

 private:
  using moment = base::boot_clock::time_point;
  struct counted {
    std::uint64_t scope = 0;
    std::uint32_t in_flight = 0;
    std::uint32_t rate = 0;  ///< of its policy
    double keys = 0;         ///< that may still come
    moment counted_at{};     ///< `keys`
  };
  using entries = std::list<counted>;
  struct refusals {
    moment said_at{};
    std::uint64_t count = 0;
  };

  /// Under the mutex. Null: all scopes that are counted have something in flight.
  counted* find(std::uint64_t scope, const route_policy& policy, moment now);
  slot slot_of(counted& entry, bool took_key) noexcept;
  void give_back(std::uint64_t scope, bool key) noexcept;

  const std::size_t most_;
  mutable std::mutex mutex_;
  entries idle_;  // with nothing in flight; the one that came last is first
  entries busy_;
  std::unordered_map<std::uint64_t, entries::iterator> by_scope_;
  std::unordered_map<std::string, refusals> refused_;  // by route
};

[[nodiscard]] std::string_view name_of(scope_quotas::limit over) noexcept;

}  // namespace onceguard
