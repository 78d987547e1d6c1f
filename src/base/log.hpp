// The seam for logging: rooms say what happened, the program decides where the lines go.
#pragma once
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/log_events.hpp"

namespace onceguard::base {

/// A text, a number, a truth value or a duration, which is shown in milliseconds. A view that is
/// valid during the call of log(). Texts are unescaped.
class log_value
    : public std::variant<std::string_view, std::int64_t, bool, std::chrono::microseconds> {
 public:
  log_value() = default;
  log_value(std::convertible_to<std::string_view> auto const& text)
      : variant(std::string_view(text)) {}
  log_value(std::chrono::microseconds time) : variant(time) {}
  log_value(std::same_as<bool> auto value) : variant(value) {}
  template <class Number>
    requires std::is_integral_v<Number> && (!std::same_as<Number, bool>)
  log_value(Number number) : variant(static_cast<std::int64_t>(number)) {}
};

struct log_field {
  std::string_view name;  ///< one of those that the event's table names
  log_value value;
};

class log_sink {
 public:
  log_sink() = default;
  log_sink(const log_sink&) = delete;
  log_sink& operator=(const log_sink&) = delete;
  virtual ~log_sink() = default;
  /// Thread-safe. Of a recurring event, the sink may leave lines out.
  virtual void write(const event_info& event, log_level level,
                     std::span<const log_field> fields) = 0;
  /// The same, and whether the line has left the process: it survives a crash, and a reader that
  /// never reads again. Waits for the reader for a moment.
  [[nodiscard]] virtual bool write_surely(const event_info& event, log_level level,
                                          std::span<const log_field> fields) {
    write(event, level, fields);
    return true;
  }
};

/// Sets where log lines go (null: nowhere). Once, before threads start; the sink must outlive them.
void set_log_sink(log_sink* sink) noexcept;

void log(event id, std::initializer_list<log_field> fields = {});
/// False: the line may be lost. With no sink nobody wants it.
[[nodiscard]] bool log_surely(event id, std::initializer_list<log_field> fields);
/// At another level than the one of the table.
void log(event id, log_level level, std::initializer_list<log_field> fields);
/// For fields whose number differs from line to line.
void log_fields(event id, std::span<const log_field> fields);

}  // namespace onceguard::base
