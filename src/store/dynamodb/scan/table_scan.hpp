// Lists and counts of all records: by scans of the table, which has no order.
#pragma once
#include <memory>
#include <string>

#include <onceguard/store.hpp>

#include "store/dynamodb/client/request.hpp"
#include "store/dynamodb/record_reading.hpp"

namespace onceguard::dynamodb {

/// A list goes through the table in stretches of some megabytes; within a stretch records are
/// ordered by their first claims. Each page reads its whole stretch.
[[nodiscard]] boost::asio::awaitable<result<list_page>> list_table(
    std::shared_ptr<batch_queue> queue, act_context context, list_filter filter, std::string cursor,
    std::size_t limit, steady_time until);

/// Counts as many pages of a scan as half of the time allows.
[[nodiscard]] boost::asio::awaitable<result<counts>> count_table(std::shared_ptr<batch_queue> queue,
                                                                 act_context context,
                                                                 std::string cursor,
                                                                 steady_time until);

}  // namespace onceguard::dynamodb
