// Writes log lines to standard error: readable text on a terminal, JSON objects otherwise. Limits
// the lines per second of a recurring event, and then writes how many are missing. Never waits for
// the reader.
#pragma once
#include <mutex>

#include "base/log.hpp"
#include "cli/line_writer.hpp"
#include "cli/log_rate_limit.hpp"
#include "config/settings.hpp"

namespace onceguard::cli {

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
