// Where log lines go: to standard error, readable on a terminal and as JSON objects otherwise. Of
// a recurring event there are so many lines a second at most, and then one that says how many are
// missing.
#pragma once
#include <memory>
#include <mutex>

#include "base/log.hpp"
#include "cli/flood_gate.hpp"
#include "config/settings.hpp"

namespace spdlog {
class logger;
}

namespace onceguard::cli {

class log_lines final : public base::log_sink {
 public:
  explicit log_lines(const config::log_params& params);
  ~log_lines() override;
  void write(base::log_level level, std::string_view event,
             std::initializer_list<base::log_field> fields) override;
  void write_recurring(base::log_level level, std::string_view event,
                       std::initializer_list<base::log_field> fields) override;

 private:
  const bool json_;
  std::mutex mutex_;
  flood_gate gate_;
  std::shared_ptr<spdlog::logger> logger_;
};

/// One line's content without time and level, in both forms.
[[nodiscard]] std::string log_text(std::string_view event,
                                   std::initializer_list<base::log_field> fields);
/// `"event":…,"name":…`: the members, without the braces.
[[nodiscard]] std::string log_json(std::string_view event,
                                   std::initializer_list<base::log_field> fields);

}  // namespace onceguard::cli
