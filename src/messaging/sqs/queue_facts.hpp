// What a queue is like.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include <onceguard/record.hpp>

#include "messaging/sqs/sqs_connection.hpp"

namespace onceguard::messaging::sqs {

struct queue_facts {
  std::string queue_url;  ///< names the queue in requests
  milliseconds visibility{0};
  milliseconds retention{0};
  std::size_t largest_message = 0;
  std::uint64_t receives_max = 0;  ///< of the redrive policy; zero: there is none
};

/// Throws `failed`: errc::not_found: there is no such queue.
[[nodiscard]] queue_facts find_queue(connection& server, const sqs_url& url);

/// How many messages are ready for a consumer, about.
[[nodiscard]] std::uint64_t count_ready(connection& server, const std::string& queue_url);

}  // namespace onceguard::messaging::sqs
