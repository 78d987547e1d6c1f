// Requests to DynamoDB, and the callers that wait for their answers.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

#include "store/request_job.hpp"

namespace onceguard::dynamodb {

/// One request and what became of it. Belongs to the client's thread while its job is under way.
struct request {
  std::string_view action;  ///< "PutItem": of a constant
  std::string body;         ///< JSON
  bool writes = false;

  std::string answer{};           ///< JSON, unless it failed
  bool condition_failed = false;  ///< its condition did not hold: nothing was written
  bool doubtful = false;          ///< a try before the last one may have been carried out
  std::optional<error> failed{};  ///< instead of an answer
};

using job = request_job<request>;

/// Sends requests together, and returns them with what became of each.
[[nodiscard]] boost::asio::awaitable<std::vector<request>> send_all(
    std::shared_ptr<batch_queue> queue, std::vector<request> requests, milliseconds timeout);
[[nodiscard]] boost::asio::awaitable<request> send_one(std::shared_ptr<batch_queue> queue,
                                                       request single, milliseconds timeout);

}  // namespace onceguard::dynamodb
