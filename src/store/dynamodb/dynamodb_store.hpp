// The shared store without a server of one's own: a table of Amazon DynamoDB.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "store/dynamodb/acts.hpp"
#include "store/dynamodb/client/client.hpp"
#include "store/dynamodb/dynamodb_params.hpp"
#include "store/dynamodb/scan/open_records.hpp"
#include "store/grant_gate.hpp"
#include "store/registry.hpp"

namespace onceguard::dynamodb {

/// A first claim, and a settle of this process's lease, is one conditional write; what else a claim
/// or a settle meets is read, decided here, and written on the condition that it still stands.
/// Callers are coroutines on io_contexts of one thread each. Call stop() before the last of these
/// io_contexts ends.
class dynamodb_store final : public store {
 public:
  /// Looks at the table; blocks, up to the timeout. errc::invalid_argument: the URL is wrong, there
  /// are no credentials, or the table is somebody else's. errc::store_unreachable: also where there
  /// is no table yet.
  [[nodiscard]] static result<std::unique_ptr<dynamodb_store>> open(const dynamodb_params& params);
  ~dynamodb_store() override;

  [[nodiscard]] store_traits traits() const override;
  boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                              milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<import_outcome>> import_record(imported_record request,
                                                               milliseconds timeout) override;
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds timeout) override;
  /// Scans the table; of what needs a person, only what is unsettled. The answers are left out
  /// where they are in pieces.
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override;
  /// Scans the table, a piece in each call.
  boost::asio::awaitable<result<counts>> count(std::string cursor, milliseconds timeout) override;
  /// Removes nothing: DynamoDB removes expired items by itself. Tells other processes which leases
  /// are over.
  boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                    milliseconds timeout) override;
  boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override;
  [[nodiscard]] std::vector<store_number> numbers() const override { return client_.numbers(); }
  void stop() override { client_.stop(); }

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
