// The fast shared store: a Redis server, one that sentinels watch over, or a Redis Cluster.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "base/recent_marks.hpp"
#include "store/redis/lease_cache.hpp"
#include "store/redis/redis_params.hpp"
#include "store/redis/scan/notes.hpp"
#include "store/redis/subscription/subscription.hpp"
#include "store/registry.hpp"

namespace onceguard::redis {

struct greeting;

/// A first claim, and a settle of this process's lease, is one script on one record, which compares
/// and sets. What else a claim or a settle meets is read by the script, decided here, and set by
/// another. All waiting requests are sent together. Callers are coroutines on io_contexts of
/// one thread each. Call stop() before the last of these io_contexts ends.
class redis_store final : public store {
 public:
  /// Connects; blocks, up to the timeout. errc::invalid_argument: the URL, or a file that it
  /// names, is wrong. errc::store_unreachable: also permissions and the server's configuration. No
  /// error text repeats the URL.
  [[nodiscard]] static result<std::unique_ptr<redis_store>> open(redis_params params);
  ~redis_store() override;

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
  /// Scans all records for each page, because there is no index; of what needs a person, those that
  /// are noted. The answers are left out.
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override;
  /// Scans all records.
  boost::asio::awaitable<result<counts>> count(std::string cursor, milliseconds timeout) override;
  /// Removes nothing: the server removes expired records by itself. Notes what needs a person.
  boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                    milliseconds timeout) override;
  boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override;
  boost::asio::awaitable<result<void>> check_writes(milliseconds timeout) override;
  /// The listener is also called for settles of this process.
  void on_settled(settled_listener listener) override { subscription_.listen(std::move(listener)); }
  [[nodiscard]] std::vector<store_number> numbers() const override;
  void stop() override;

 private:
  boost::asio::awaitable<result<onceguard::vitals>> read_metadata(milliseconds timeout);
  boost::asio::awaitable<result<reading>> read(record_id id, milliseconds timeout);

  redis_store(std::unique_ptr<server_pool> servers, milliseconds timeout);
  [[nodiscard]] std::optional<error> refuse_eviction(
      const std::vector<result<greeting>>& items) const;
  void note_refusal(const std::vector<result<greeting>>& items);
  /// Carries out a batch of one kind of acts.
  template <class Act>
  boost::asio::awaitable<std::vector<result<typename Act::outcome_type>>> carry_out(
      std::vector<typename Act::item_type> batch, milliseconds timeout);
  /// Reads a record and writes what `decide(reading)` makes of it, until nobody else writes
  /// between.
  template <class Decision, class Decide>
  boost::asio::awaitable<result<Decision>> decide_on_record(record_id id, Decide decide,
                                                            milliseconds timeout);

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
