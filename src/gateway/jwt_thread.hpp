// A thread that verifies the tokens of strangers.
#pragma once
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <onceguard/token_verifier.hpp>

namespace onceguard::gateway {

/// Anybody can send tokens that take milliseconds to refuse. Whoever does waits for the others who
/// do, and not the I/O thread, on which leases are renewed. Destroyed before the io_context on
/// which its callers wait.
class jwt_thread {
 public:
  jwt_thread() = default;
  jwt_thread(const jwt_thread&) = delete;
  jwt_thread& operator=(const jwt_thread&) = delete;
  ~jwt_thread();

  /// When this is over, the verifier knows the token.
  boost::asio::awaitable<void> verify(std::shared_ptr<const token_verifier> verifier,
                                      std::string token);

 private:
  std::unique_ptr<boost::asio::thread_pool> pool_;  // from the first token on
};

}  // namespace onceguard::gateway
