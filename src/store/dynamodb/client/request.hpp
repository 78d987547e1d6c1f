// Requests to DynamoDB, and what became of them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

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

  /// The client gives up a little before the caller does, and then knows what became of a request.
  [[nodiscard]] static milliseconds time_of_servers(milliseconds timeout) {
    return timeout - timeout / 20;
  }
};

using job = request_job<request>;

}  // namespace onceguard::dynamodb
