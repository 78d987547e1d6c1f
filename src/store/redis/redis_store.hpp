// The fast shared store: a Redis server, one that sentinels watch over, or a Redis Cluster.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "base/recent_marks.hpp"
#include "store/redis/compare_and_set.hpp"
#include "store/redis/redis_params.hpp"
#include "store/redis/scan/attention_notes.hpp"
#include "store/redis/subscription/subscription.hpp"
#include "store/registry.hpp"
#include "store/store_overrides.hpp"

namespace onceguard::redis {

struct greeting;

/// A first claim, and a settle of this process's lease, is one script on one record, which compares
/// and sets. What else a claim or a settle meets is read by the script, decided here, and set by
/// another. All waiting requests are sent together. Callers are coroutines on io_contexts of
/// one thread each. Call stop() before the last of these io_contexts ends.
///
/// There is no index: list() scans all records for each page, or, of what needs a person, those
/// that are noted, and leaves the answers out; count() scans all. The server removes expired
/// records by itself: sweep() removes nothing, and notes what needs a person.
class redis_store final : public store {
 public:
  /// Connects; blocks, up to the timeout. errc::invalid_argument: the URL, or a file that it
  /// names, is wrong. errc::store_unreachable: also permissions and the server's configuration. No
  /// error text repeats the URL.
  [[nodiscard]] static result<std::unique_ptr<redis_store>> open(redis_params params);
  ~redis_store() override;

  ONCEGUARD_STORE_OVERRIDES;
  boost::asio::awaitable<result<void>> check_writes(milliseconds timeout) override;
  /// The listener is also called for settles of this process.
  void on_settled(settled_listener listener) override { subscription_.listen(std::move(listener)); }
  [[nodiscard]] std::vector<store_number> numbers() const override;

 private:
  boost::asio::awaitable<result<onceguard::vitals>> read_metadata(milliseconds timeout);

  redis_store(std::unique_ptr<server_pool> servers, milliseconds timeout);
  [[nodiscard]] std::optional<error> refuse_eviction(
      const std::vector<result<greeting>>& items) const;
  void note_refusal(const std::vector<result<greeting>>& items);
  /// Carries out a batch of one kind of acts.
  template <class Act>
  boost::asio::awaitable<std::vector<result<typename Act::outcome_type>>> carry_out(
      std::vector<typename Act::item_type> batch, milliseconds timeout);
  template <class Act>
  boost::asio::awaitable<result<typename Act::outcome_type>> carry_out_one(
      typename Act::item_type one, milliseconds timeout);

  /// Of the acts that are done, the records that operators are to find and that are not noted yet.
  template <class Act>
  [[nodiscard]] std::vector<record_id> to_note(const std::vector<Act>& done);

  const std::unique_ptr<server_pool> pool_;
  attention_notes notes_;
  base::recent_marks noted_;  // so that a record that is met again and again is noted once
  lease_cache leases_;
  subscription subscription_;
  std::mutex stopping_;
  std::mutex refusing_;
  std::optional<error> refusal_;  // why the last poll found that no writes are taken
};

}  // namespace onceguard::redis

namespace onceguard {

[[nodiscard]] const store_kind& redis_store_kind() noexcept;

}  // namespace onceguard
