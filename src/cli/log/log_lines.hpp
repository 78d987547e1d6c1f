// Writes log lines to standard error or a file: readable text on a terminal, JSON objects
// otherwise. Limits the lines per second of a recurring event, and then writes how many are
// missing. Never waits for the reader.
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/log.hpp"
#include "cli/log/log_rate_limit.hpp"
#include "cli/log/log_writer.hpp"
#include "config/settings.hpp"

namespace onceguard::cli::log {

class line_buffer;

class log_lines final : public base::log_sink {
 public:
  /// The caller must never close the descriptor.
  explicit log_lines(const config::log_params& params, int descriptor = STDERR_FILENO);
  ~log_lines() override;
  void write(const base::event_info& event, base::log_level level,
             std::span<const base::log_field> fields) override;
  [[nodiscard]] bool write_surely(const base::event_info& event, base::log_level level,
                                  std::span<const base::log_field> fields) override;
  /// Call before the process ends without destructors: waits up to log_writer::patience for queued
  /// lines.
  void flush();
  /// See log_writer::redirect().
  void redirect(int descriptor) { writer_.redirect(descriptor); }
  /// How many lines were dropped since the start, as nobody read them in time.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return writer_.dropped(); }
  /// How many the rate limit left out.
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    return left_out_.load(std::memory_order_relaxed);
  }

 private:
  enum class form : std::uint8_t { text, coloured, json_lines };

  void report_left_out(log_rate_limit::time_point now);
  [[nodiscard]] std::string_view make_line(base::log_level level, std::string_view event,
                                           std::span<const base::log_field> fields) const;
  static form form_for(config::log_format wanted, int descriptor);
  static void add_line(line_buffer& out, form shown, base::log_level level, std::string_view event,
                       std::span<const base::log_field> fields);

  const form form_;
  const base::log_level least_;
  std::mutex mutex_;
  log_rate_limit limit_;                                       // under the mutex
  std::atomic<log_rate_limit::time_point> due_{limit_.due()};  // its due(), for each line to read
  std::atomic<std::uint64_t> left_out_{0};
  log_writer writer_;
};

/// The content of a line without time and level, as text.
[[nodiscard]] std::string log_text(std::string_view event,
                                   std::initializer_list<base::log_field> fields);
/// The same as JSON: the members `"event":…,"name":…` without the braces.
[[nodiscard]] std::string log_json(std::string_view event,
                                   std::initializer_list<base::log_field> fields);

}  // namespace onceguard::cli::log
