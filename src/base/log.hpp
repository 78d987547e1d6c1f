// The seam for logging: rooms say what happened, the program decides where it goes.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace onceguard::base {

enum class log_level : std::uint8_t { debug, info, warning, error };

struct log_field {
  std::string_view name;
  std::string value;
};

class log_sink {
 public:
  log_sink() = default;
  log_sink(const log_sink&) = delete;
  log_sink& operator=(const log_sink&) = delete;
  virtual ~log_sink() = default;
  /// Thread-safe. `event` is a constant text; what varies is in the fields, unescaped.
  virtual void write(log_level level, std::string_view event,
                     std::initializer_list<log_field> fields) = 0;
  /// The same of what may come with each request of an outage: some may be left out.
  virtual void write_recurring(log_level level, std::string_view event,
                               std::initializer_list<log_field> fields) = 0;
};

/// Sets where log lines go (null: nowhere). Once, before threads start; must outlive them.
void set_log_sink(log_sink* sink) noexcept;

void log(log_level level, std::string_view event, std::initializer_list<log_field> fields = {});
void log_recurring(log_level level, std::string_view event,
                   std::initializer_list<log_field> fields);

}  // namespace onceguard::base
