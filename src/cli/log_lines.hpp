// Writes log lines to standard error: readable text on a terminal, JSON objects otherwise. Limits
// the lines per second of a recurring event, and then writes how many are missing. Never waits for
// the reader.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "config/settings.hpp"

namespace onceguard::cli {

// Writes lines to a descriptor on a separate thread. Callers never wait for the reader: a stopped
// terminal, a full pipe, a pipe without a reader, a full disk. Lines that don't fit into the queue
// are counted, and the count is written once there is space.

class line_writer {
 public:
  /// Makes the line that reports how many lines are missing. May be called until the process ends.
  using missing_line = std::function<std::string(std::uint64_t count)>;
  /// How long the destructor waits for the queue; lines that are left then are lost.
  static constexpr std::chrono::milliseconds patience{1'000};

  /// `room`: the size of the queue in bytes. The caller must never close the descriptor.
  line_writer(int descriptor, std::size_t room, missing_line missing);
  ~line_writer();
  line_writer(const line_writer&) = delete;
  line_writer& operator=(const line_writer&) = delete;

  /// Queues a line, which includes its line end, or drops and counts the line. Thread-safe. Never
  /// waits for a write.
  void write(std::string line);
  /// Waits until all lines are written. False: not all lines were written within `at_most`.
  bool flush(std::chrono::milliseconds at_most = patience);

 private:
  struct queue;
  const std::shared_ptr<queue> queue_;  // shared: a thread that hangs in a write outlives this
                                        // object
};

// Limits the log lines of each event: in an outage each request would write a line and fill the
// disk.

class log_rate_limit {
 public:
  using time_point = base::boot_clock::time_point;
  static constexpr std::uint64_t most_a_second = 20;

  struct decision {
    bool pass = true;
    std::uint64_t left_out = 0;  ///< lines of this event that earlier seconds left out and no
                                 ///< decision has reported yet
  };

  /// Whether a line of `event` may be written now. Not thread-safe.
  [[nodiscard]] decision decide(std::string_view event, time_point now);

 private:
  struct stretch {
    time_point begin{};
    std::uint64_t lines = 0;
  };
  std::map<std::string, stretch, std::less<>> events_;  // bounded by the number of event names
};

class log_lines final : public base::log_sink {
 public:
  explicit log_lines(const config::log_params& params);
  void write(const base::event_info& event, base::log_level level,
             std::initializer_list<base::log_field> fields) override;
  /// Call before the process ends without destructors: waits up to line_writer::patience for queued
  /// lines.
  void flush() { writer_.flush(); }

 private:
  enum class form : std::uint8_t { text, coloured, json };

  void write_line(base::log_level level, std::string_view event,
                  std::initializer_list<base::log_field> fields);
  static form form_for(config::log_format wanted);
  static std::string line_of(form shown, base::log_level level, std::string_view event,
                             std::initializer_list<base::log_field> fields);

  const form form_;
  const base::log_level least_;
  std::mutex mutex_;
  log_rate_limit limit_;
  line_writer writer_;
};

/// The content of a line without time and level, as text.
[[nodiscard]] std::string log_text(std::string_view event,
                                   std::initializer_list<base::log_field> fields);
/// The same as JSON: the members `"event":…,"name":…` without the braces.
[[nodiscard]] std::string log_json(std::string_view event,
                                   std::initializer_list<base::log_field> fields);

}  // namespace onceguard::cli
