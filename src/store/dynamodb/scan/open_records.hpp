// The records that are not settled, which the table's index lists.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/store.hpp>

#include "store/dynamodb/client/request.hpp"
#include "store/dynamodb/record_reading.hpp"

namespace onceguard::dynamodb {

class open_records {
 public:
  open_records(std::shared_ptr<batch_queue> queue, const act_context& context)
      : queue_(std::move(queue)), context_(context) {}

  /// Ordered by the first claim. The index comes after the table by some milliseconds; each record
  /// is read from the table itself.
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, steady_time until);

  /// Observes the leases that may be running, and notes in their items for how long they were seen
  /// unchanged once they are over: so that a process that comes later need not observe them.
  boost::asio::awaitable<std::optional<error>> sweep(steady_time pause_at, steady_time until);

 private:
  /// The entries of these parts, ordered by the first claim, from `earliest` on.
  boost::asio::awaitable<result<std::vector<item>>> entries(std::vector<std::string> parts,
                                                            std::uint64_t earliest,
                                                            steady_time until);
  /// The items of some of the entries, in their order. Some may be gone.
  boost::asio::awaitable<result<std::vector<item>>> items(std::vector<std::string> ids,
                                                          steady_time until);
  /// What is to be noted of a record; none: nothing.
  [[nodiscard]] std::optional<request> note_of(item found);

  const std::shared_ptr<batch_queue> queue_;
  const act_context context_;
  std::atomic<std::uint64_t> sweep_begin_{0};  ///< the first claim where the next sweep goes on
};

}  // namespace onceguard::dynamodb
