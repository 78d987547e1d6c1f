// Counts the records of the store in the background, piece by piece, for the metrics.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "base/clock.hpp"

namespace onceguard::admin {

struct record_numbers {
  counts found;
  std::int64_t counted_at_wall = 0;  ///< in milliseconds since 1970
};

/// What is known may be asked for from any thread. The store must outlive it.
class record_counter {
 public:
  record_counter(store& records, milliseconds interval, milliseconds timeout)
      : records_(records), interval_(interval), timeout_(timeout) {}

  /// Counts again and again, until its io_context ends.
  boost::asio::awaitable<void> run();
  /// None: no count was completed yet.
  [[nodiscard]] std::optional<record_numbers> latest() const;
  /// Whether records are counted at all.
  [[nodiscard]] bool counts() const noexcept { return interval_.count() > 0; }
  /// When the last count was completed, or before the first one, when this was made.
  [[nodiscard]] std::int64_t counted_at_wall() const;
  /// Of the unknown record that was claimed first: when that was, in milliseconds since 1970; 0:
  /// none is unknown. Is read before each count, and so known earlier. None: not read yet.
  [[nodiscard]] std::optional<std::int64_t> oldest_unknown_wall() const;

 private:
  boost::asio::awaitable<std::optional<record_numbers>> count_all();
  /// Of what is noted for people only, or of all records.
  boost::asio::awaitable<std::optional<std::int64_t>> find_oldest_unknown(bool noted);
  template <class Value>
  void publish(const std::optional<Value>& read, std::optional<Value>& known);

  store& records_;
  const milliseconds interval_;
  const milliseconds timeout_;
  const std::int64_t made_at_wall_ = base::system_clock().wall_ms();
  mutable std::mutex mutex_;
  std::optional<record_numbers> latest_;        // under the mutex
  std::optional<std::int64_t> oldest_unknown_;  // under the mutex
};

}  // namespace onceguard::admin
