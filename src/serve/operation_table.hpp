// The operations that this process holds leases of, and the connections that they live with.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onceguard/http.hpp>

#include "base/clock.hpp"
#include "serve/live_rules.hpp"

namespace onceguard::serve {

using connection_number = std::uint64_t;

/// An operation while its work runs: as a request with `exchange`, by its parts with `lease`.
struct held_operation {
  rules_ptr rules;
  policy_ptr policy;  ///< by its parts
  std::string service;
  byte_reservation answer_room;  ///< by its parts
  std::optional<http::exchange> exchange;
  std::optional<lease_handle> lease;

  std::string id;
  std::optional<claim_id> claim;  ///< that the client made
  connection_number connection = 0;
  base::boot_clock::time_point renewed_until{};

  /// Null: it is only observed.
  [[nodiscard]] lease_handle* handle();
  /// Ends without a settle: the lease runs out by itself.
  void let_go();
};
using operation_ptr = std::shared_ptr<held_operation>;

/// Thread-safe. What was taken out is its taker's alone.
class operation_table {
 public:
  /// A connection whose operations are renewed, until leave().
  [[nodiscard]] connection_number join();
  /// The connection has ended: what was claimed on it is let go.
  void leave(connection_number gone);

  /// Takes the operation in. False: its connection has ended, or there is no room; it stays the
  /// caller's.
  [[nodiscard]] bool put(const operation_ptr& held);
  /// Takes it out; null: it is not held here.
  [[nodiscard]] operation_ptr take(const std::string& id);
  /// What was granted to this claim, which is taken out.
  [[nodiscard]] operation_ptr take_claimed(const claim_id& claim);
  [[nodiscard]] bool holds_any(connection_number owner) const;
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] std::size_t size() const;

  /// Begins claims with ids of the client's: all, or none of them. False: another claim with one of
  /// the ids is under way.
  [[nodiscard]] bool begin_claims(std::span<const claim_id> claims);
  void end_claim(const claim_id& claim);

  /// Lets go what was renewed for as long as its policy allows, or whose lease is lost.
  void let_go_of_old();
  void let_go_of_all();

 private:
  using all_operations = std::unordered_map<std::string, operation_ptr>;
  void forget(const held_operation& held);  // under the mutex
  std::vector<operation_ptr> take_if(bool (*chosen)(held_operation&));

  mutable std::mutex mutex_;
  connection_number last_ = 0;
  all_operations held_;
  std::unordered_map<connection_number, std::unordered_set<std::string>> connections_;
  std::unordered_map<std::string, std::string> by_claim_;  // hex → operation's id
  std::unordered_set<std::string> claims_;                 // under way, in hex
};

/// A claim under way, until it is destroyed.
class claim_under_way {
 public:
  claim_under_way() = default;
  claim_under_way(operation_table& table, const claim_id& claim) : table_(&table), claim_(claim) {}
  claim_under_way(claim_under_way&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)), claim_(other.claim_) {}
  claim_under_way& operator=(claim_under_way&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(claim_, other.claim_);
    return *this;
  }
  ~claim_under_way() {
    if (table_ != nullptr) table_->end_claim(claim_);
  }

 private:
  operation_table* table_ = nullptr;
  claim_id claim_{};
};

}  // namespace onceguard::serve
