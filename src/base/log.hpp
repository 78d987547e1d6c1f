// Logging: all parts of the program log through here, and the program sets the sink.
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
  /// Thread-safe. `event` is a constant text; variable values are in the fields, unescaped.
  virtual void write(log_level level, std::string_view event,
                     std::initializer_list<log_field> fields) = 0;
  /// For events that each request may cause during an outage: the sink may leave some out.
  virtual void write_recurring(log_level level, std::string_view event,
                               std::initializer_list<log_field> fields) = 0;
};

/// Sets the sink of all log events (null: none). Call once, before threads start. `sink` must
/// outlive the threads.
void set_log_sink(log_sink* sink) noexcept;

void log(log_level level, std::string_view event, std::initializer_list<log_field> fields = {});
void log_recurring(log_level level, std::string_view event,
                   std::initializer_list<log_field> fields);

}  // namespace onceguard::base
