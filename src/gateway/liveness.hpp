// Whether threads go on, for signs of life to a service manager.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include <onceguard/store.hpp>

namespace onceguard::gateway {

/// Used by one thread.
class liveness {
 public:
  /// `records` must outlive it. What it posts to an io_context outlives it.
  explicit liveness(const store& records) : records_(records) {}

  void watch(std::string thread, boost::asio::io_context& io);
  /// The threads that have done nothing since the last call although there was something to do;
  /// empty: none. To be called every few seconds.
  [[nodiscard]] std::string stuck();

 private:
  struct watched {
    std::string thread;
    boost::asio::io_context& io;
    std::shared_ptr<std::atomic<bool>> answered;
  };
  /// Whether calls wait for the store, and none was taken since the last call.
  [[nodiscard]] bool store_is_stuck();

  const store& records_;
  std::vector<watched> threads_;
  double taken_ = -1;
  bool waited_ = false;
};

}  // namespace onceguard::gateway
