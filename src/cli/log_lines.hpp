// Where log lines go: to standard error, readable on a terminal and as JSON objects otherwise. Of
// a recurring event there are so many lines a second at most, and then one that says how many are
// missing. Nothing waits for who reads them.
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
  void write(base::log_level level, std::string_view event,
             std::initializer_list<base::log_field> fields) override;
  void write_recurring(base::log_level level, std::string_view event,
                       std::initializer_list<base::log_field> fields) override;
  /// Before the process ends without destructors: waits a moment for what is queued.
  void flush() { writer_.flush(); }

 private:
  enum class form : std::uint8_t { text, coloured, json };

  static form form_for(config::log_format wanted);
  static std::string line_of(form form, base::log_level level, std::string_view event,
                             std::initializer_list<base::log_field> fields);

  const form form_;
  const base::log_level least_;
  std::mutex mutex_;
  log_rate_limit limit_;
  line_writer writer_;
};

/// One line's content without time and level, in both forms.
[[nodiscard]] std::string log_text(std::string_view event,
                                   std::initializer_list<base::log_field> fields);
/// `"event":…,"name":…`: the members, without the braces.
[[nodiscard]] std::string log_json(std::string_view event,
                                   std::initializer_list<base::log_field> fields);

}  // namespace onceguard::cli
