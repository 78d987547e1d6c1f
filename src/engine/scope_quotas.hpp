// How much each scope may bring to a route: operations in flight, new keys in a second, and the
// records that they leave.
#pragma once
#include <cstddef>
#include <cstdint>
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
/// for the first time. Thread-safe. Its slots may outlive it.
class scope_quotas {
  class counts;

 public:
  static constexpr std::size_t scopes_max = 65'536;

  explicit scope_quotas(std::size_t most = scopes_max);
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

    [[nodiscard]] bool taken() const noexcept { return counted_by_ != nullptr; }
    /// The key that was taken is a new one.
    void keep_key() noexcept { taken_.key = false; }
    /// The operation has a record, which stays behind, unless …
    void keep_record() noexcept { taken_.record = true; }
    /// … it was released.
    void drop_record() noexcept { taken_.record = false; }
    /// Of the answer that the record keeps.
    void keep_bytes(std::uint64_t bytes) noexcept { taken_.bytes = bytes; }
    /// Without a slot, which is so on most routes, no clock is read.
    void leave() noexcept {
      if (taken()) leave(base::boot_now());
    }
    void leave(base::boot_clock::time_point now) noexcept;

   private:
    friend class counts;
    struct taken_parts {
      std::uint64_t scope = 0;
      std::uint64_t id = 0;  ///< of the record
      std::uint64_t bytes = 0;
      bool key = false;
      bool record = false;
    };
    std::shared_ptr<counts> counted_by_;  // also after the end of its quotas
    taken_parts taken_;
  };

  /// What a scope has used up.
  enum class limit : std::uint8_t { none, in_flight, new_keys, live_records, live_bytes, scopes };
  struct answer {
    limit over = limit::none;
    milliseconds retry_after{0};
    slot held;
  };

  /// Whether the policy has a quota at all.
  [[nodiscard]] static bool applies_to(const route_policy& policy) noexcept {
    return policy.quota_in_flight != 0 || policy.quota_new_keys != 0 || limits_records(policy);
  }
  [[nodiscard]] static bool limits_records(const route_policy& policy) noexcept {
    return policy.quota_live_records != 0 || policy.quota_live_bytes != 0;
  }
  /// For a claim that may be of a new key. It is known for none if a slot of its record is taken:
  /// its twin's claim is under way, or its lease is held.
  [[nodiscard]] answer take(const record_id& id, const subject& about, const route_policy& policy,
                            base::boot_clock::time_point now);
  /// For a claim of a key that is known: counted, and never refused.
  [[nodiscard]] slot take_known(const record_id& id, const subject& about,
                                const route_policy& policy, base::boot_clock::time_point now);

  /// A new key was refused. Logs it once a minute for each route.
  void note_refusal(const subject& about, limit over, base::boot_clock::time_point now);

  [[nodiscard]] std::size_t scopes() const;

 private:
  struct refusals {
    base::boot_clock::time_point said_at{};
    std::uint64_t count = 0;
  };

  const std::shared_ptr<counts> counts_;
  std::mutex mutex_;
  std::unordered_map<std::string, refusals> refused_;  // by route
};

[[nodiscard]] std::string_view name_of(scope_quotas::limit over) noexcept;

}  // namespace onceguard
