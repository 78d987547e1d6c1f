// What no record says of its requests: repeats, refusals, and attempts that did not complete it.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "http/request_report.hpp"

namespace onceguard::admin {

/// A request of a record, without its texts.
struct past_request {
  std::uint64_t number = 0;
  std::int64_t at_wall = 0;       ///< its end, in milliseconds since 1970
  http::request_report report{};  ///< its outcome, statuses, attempt and whole time alone
};

/// The latest of them, 64 bytes each. Thread-safe. Neither a request nor a reader waits for
/// anybody: a request that meets another one in its slot is lost, and a reader passes over it.
class outcome_history {
 public:
  static constexpr std::size_t entries_max = 32'768;

  /// From now on it keeps something. Before requests come.
  void begin() { slots_ = std::make_unique<slot[]>(entries_max); }
  /// Takes what has a record, but a first attempt that completed it: the record says that itself.
  void add(std::uint64_t number, std::int64_t at_wall, const http::request_report& report) noexcept;
  /// The latest of a record, at most so many, the oldest first.
  [[nodiscard]] std::vector<past_request> of(const record_id& record, std::size_t most) const;
  /// When the oldest was over that is here; 0: none had to make room yet.
  [[nodiscard]] std::int64_t known_since_wall() const noexcept;

 private:
  struct alignas(64) slot {
    // Twice the turn of the entry, and one more while it is written.
    std::atomic<std::uint64_t> mark{0};
    std::array<std::atomic<std::uint64_t>, 7> words{};
  };
  using entry = std::array<std::uint64_t, 7>;

  [[nodiscard]] static bool read(const slot& source, entry& out) noexcept;

  std::unique_ptr<slot[]> slots_;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace onceguard::admin
