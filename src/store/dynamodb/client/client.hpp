// Carries out requests to DynamoDB on a thread of its own: several at once, on connections that are
// kept, and again where the service could not serve them just then.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <onceguard/store.hpp>

#include "aws/credential_source.hpp"
#include "store/dynamodb/client/failure.hpp"
#include "store/dynamodb/client/request.hpp"

namespace onceguard::dynamodb {

struct client_params {
  address target;
  std::size_t requests_at_once = 64;
  /// On the client's thread: the table is not there.
  std::function<void()> on_no_table;
  /// A try of a request takes a part of the time that is left, but not less than this: a packet
  /// that is lost costs a try, and a slow service is not asked many times at once.
  milliseconds shortest_try{500};
};

class client {
 public:
  /// `credentials` have been found already.
  client(client_params params, std::shared_ptr<aws::credential_source> credentials);
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client();

  /// For send_all().
  [[nodiscard]] const std::shared_ptr<batch_queue>& queue() const noexcept { return queue_; }
  /// Any thread.
  [[nodiscard]] std::vector<store_number> numbers() const;
  /// Finishes what was accepted, then refuses. Blocks; idempotent.
  void stop();

 private:
  class loop;

  const client_params params_;
  const std::shared_ptr<aws::credential_source> credentials_;
  std::shared_ptr<void> multi_;
  std::shared_ptr<batch_queue> queue_;
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> repeats_{0};
  std::mutex stopping_;
  std::thread thread_;
};

}  // namespace onceguard::dynamodb
