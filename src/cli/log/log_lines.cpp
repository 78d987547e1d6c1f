#include "cli/log/log_lines.hpp"

#include <array>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include "base/clock.hpp"
#include "cli/log/line_buffer.hpp"
#include "text/json_text.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::log {
namespace {

constexpr std::size_t room_for_lines = 1'024 * 1'024;

struct level_style {
  std::string_view name;
  std::string_view padding;
  std::string_view colour;
};

level_style style_of(base::log_level level) {
  switch (level) {
    case base::log_level::debug:
      return {"debug", "  ", "\x1b[36m"};
    case base::log_level::info:
      return {"info", "   ", "\x1b[32m"};
    case base::log_level::warning:
      return {"warning", "", "\x1b[33m\x1b[1m"};
    case base::log_level::error:
      break;
  }
  return {"error", "  ", "\x1b[31m\x1b[1m"};
}

bool shows_colours() {
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb" &&
         std::getenv("NO_COLOR") == nullptr;
}

template <class AddText>
void add_value(line_buffer& out, const base::log_value& value, const AddText& add_text) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    add_text(*text);
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    out.add_number(*number);
  } else if (const auto* time = std::get_if<std::chrono::microseconds>(&value)) {
    out.add_milliseconds(*time);
  } else {
    out.add(std::get<bool>(value) ? "true" : "false");
  }
}

void add_json(line_buffer& out, std::string_view text) {
  if (!line_buffer::is_plain(text)) return out.add(json_string(text));
  out.add('"');
  out.add(text);
  out.add('"');
}

void add_fields_text(line_buffer& out, std::string_view event,
                     std::span<const base::log_field> fields) {
  out.add(event);
  for (const auto& f : fields) {
    out.add(' ');
    out.add(f.name);
    out.add('=');
    add_value(out, f.value, [&](std::string_view text) { out.add(plain_text(text)); });
  }
}

/// The names of events and fields are plain.
void add_fields_json(line_buffer& out, std::string_view event,
                     std::span<const base::log_field> fields) {
  out.add(R"("event":")");
  out.add(event);
  out.add('"');
  for (const auto& f : fields) {
    out.add(R"(,")");
    out.add(f.name);
    out.add(R"(":)");
    add_value(out, f.value, [&](std::string_view text) { add_json(out, text); });
  }
}

/// The time as text. Most lines of a thread share their second with the line before.
void add_time(line_buffer& out, std::int64_t wall_ms) {
  constexpr std::size_t to_seconds = 19;  // 2026-01-31T12:00:00
  thread_local std::int64_t second = -1;
  thread_local std::string text;
  if (wall_ms / 1'000 != second) {
    second = wall_ms / 1'000;
    text = time_text(wall_ms).substr(0, to_seconds);
  }
  out.add(text);
  out.add('.');
  out.add_thousandths(wall_ms % 1'000);
  out.add('Z');
}

}  // namespace

log_lines::form log_lines::form_for(config::log_format wanted, int descriptor) {
  const bool attached = ::isatty(descriptor) == 1;
  if (wanted == config::log_format::automatic ? !attached : wanted == config::log_format::json) {
    return form::json_lines;
  }
  return attached && shows_colours() ? form::coloured : form::text;
}

void log_lines::add_line(line_buffer& out, form shown, base::log_level level,
                         std::string_view event, std::span<const base::log_field> fields) {
  const auto style = style_of(level);
  if (shown == form::json_lines) out.add(R"({"time":")");
  add_time(out, base::system_clock().wall_ms());
  if (shown == form::json_lines) {
    out.add(R"(","level":")");
    out.add(style.name);
    out.add(R"(",)");
    add_fields_json(out, event, fields);
    out.add("}\n");
    return;
  }
  out.add(' ');
  const bool coloured = shown == form::coloured;
  if (coloured) out.add(style.colour);
  out.add(style.name);
  out.add(style.padding);
  if (coloured) out.add("\x1b[m");
  out.add(' ');
  add_fields_text(out, event, fields);
  out.add('\n');
}

log_lines::log_lines(const config::log_params& params, int descriptor)
    : form_(form_for(params.format, descriptor)),
      least_(params.level),
      writer_(descriptor, room_for_lines, [how = form_](std::uint64_t count) {
        const std::array<base::log_field, 1> fields{{{"count", count}}};
        line_buffer line;
        add_line(line, how, base::log_level::warning,
                 base::info_of(base::event::log_lines_dropped).name, fields);
        return std::string(line.view());
      }) {}

/// Valid until the thread's next line.
std::string_view log_lines::make_line(base::log_level level, std::string_view event,
                                      std::span<const base::log_field> fields) const {
  thread_local line_buffer line;
  line.clear();
  add_line(line, form_, level, event, fields);
  return line.view();
}

log_lines::~log_lines() { report_left_out(log_rate_limit::time_point::max()); }

void log_lines::flush() {
  report_left_out(log_rate_limit::time_point::max());
  writer_.flush();
}

void log_lines::report_left_out(log_rate_limit::time_point now) {
  std::vector<log_rate_limit::missing> all;
  {
    const std::lock_guard lock(mutex_);
    all = limit_.take_missing(now);
    due_.store(limit_.due(), std::memory_order_relaxed);
  }
  const auto& info = base::info_of(base::event::lines_left_out);
  if (info.level < least_) return;
  for (const auto& one : all) {
    const std::array<base::log_field, 2> fields{
        {{"event_left_out", one.event}, {"count", one.lines}}};
    writer_.write(make_line(info.level, info.name, fields));
  }
}

void log_lines::write(const base::event_info& event, base::log_level level,
                      std::span<const base::log_field> fields) {
  // Any line reports what is missing, as the event itself may never come again.
  if (const auto due = due_.load(std::memory_order_relaxed);
      due != log_rate_limit::time_point::max()) {
    if (const auto now = base::boot_now(); now >= due) report_left_out(now);
  }
  if (event.recurring) {
    bool passes = false;
    {
      const std::lock_guard lock(mutex_);
      passes = limit_.passes(event.name, base::boot_now());
      due_.store(limit_.due(), std::memory_order_relaxed);
    }
    if (!passes) {
      left_out_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  // Who changed a record is written whatever the level is: without a file this is the audit log.
  if (level < least_ && event.id != base::event::audit) return;
  writer_.write(make_line(level, event.name, fields));
}

bool log_lines::write_surely(const base::event_info& event, base::log_level level,
                             std::span<const base::log_field> fields) {
  return writer_.write_surely(make_line(level, event.name, fields));
}

std::string log_text(std::string_view event, std::initializer_list<base::log_field> fields) {
  line_buffer out;
  add_fields_text(out, event, {fields.begin(), fields.size()});
  return std::string(out.view());
}

std::string log_json(std::string_view event, std::initializer_list<base::log_field> fields) {
  line_buffer out;
  add_fields_json(out, event, {fields.begin(), fields.size()});
  return std::string(out.view());
}

}  // namespace onceguard::cli::log
