// The shared store without a server of one's own: a table of Amazon DynamoDB.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "store/dynamodb/client/client.hpp"
#include "store/dynamodb/compare_and_set.hpp"
#include "store/dynamodb/dynamodb_params.hpp"
#include "store/dynamodb/scan/open_records.hpp"
#include "store/grant_gate.hpp"
#include "store/registry.hpp"
#include "store/store_overrides.hpp"

namespace onceguard::dynamodb {

/// A first claim, and a settle of this process's lease, is one conditional write; what else a claim
/// or a settle meets is read, decided here, and written on the condition that it still stands.
/// Callers are coroutines on io_contexts of one thread each. Call stop() before the last of these
/// io_contexts ends.
///
/// list() scans the table, or, of what needs a person, only what is unsettled, and leaves answers
/// out that are in pieces; count() scans the table, a piece in each call. DynamoDB removes expired
/// items by itself: sweep() removes nothing, and tells other processes which leases are over.
class dynamodb_store final : public store {
 public:
  /// Looks at the table; blocks, up to the timeout. errc::invalid_argument: the URL is wrong, there
  /// are no credentials, or the table is somebody else's. errc::store_unreachable: also where there
  /// is no table yet.
  [[nodiscard]] static result<std::unique_ptr<dynamodb_store>> open(const dynamodb_params& params);
  ~dynamodb_store() override;

  ONCEGUARD_STORE_OVERRIDES;
  [[nodiscard]] std::vector<store_number> numbers() const override { return client_.numbers(); }

 private:
  dynamodb_store(const dynamodb_params& params, address target,
                 std::shared_ptr<aws::credential_source> credentials);

  [[nodiscard]] act_context context();
  /// Carries out a batch of one kind of acts.
  template <class Act>
  boost::asio::awaitable<std::vector<result<typename Act::outcome_type>>> carry_out(
      std::vector<typename Act::item_type> batch, milliseconds timeout);
  template <class Act>
  boost::asio::awaitable<result<typename Act::outcome_type>> carry_out_one(
      typename Act::item_type one, milliseconds timeout);
  /// Lists unreadable records that were met in the index.
  boost::asio::awaitable<void> note_unreadable(std::vector<item> found, steady_time until);

  const dynamodb_params params_;
  const address target_;
  clocks clocks_;
  observations observations_;
  lease_cache leases_;
  grant_gate gate_;
  std::atomic<bool> wrote_{false};  ///< since the last poll
  std::mutex identity_mutex_;
  std::string identity_;  ///< as the last poll has seen it
  client client_;
  open_records open_;
};

}  // namespace onceguard::dynamodb

namespace onceguard {

[[nodiscard]] const store_kind& dynamodb_store_kind() noexcept;

}  // namespace onceguard
