#include "cli/log_lines.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include "base/clock.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {

log_rate_limit::decision log_rate_limit::decide(std::string_view event, time_point now) {
  auto found = events_.find(event);
  if (found == events_.end()) found = events_.emplace(std::string(event), stretch{now, 0}).first;
  auto& entry = found->second;
  decision out;
  if (now - entry.begin >= std::chrono::seconds(1)) {
    out.left_out = entry.lines > most_a_second ? entry.lines - most_a_second : 0;
    entry = {now, 0};
  }
  out.pass = ++entry.lines <= most_a_second;
  return out;
}

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

/// Milliseconds with three decimals.
void append_milliseconds(std::string& out, std::chrono::microseconds time) {
  const auto all = std::max<std::int64_t>(time.count(), 0);
  out += std::to_string(all / 1'000);
  const auto digits = std::to_string(1'000 + all % 1'000);
  out += '.';
  out.append(digits, 1);
}

template <class AppendText>
void append_value(std::string& out, const base::log_value& value, const AppendText& append_text) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    out += std::to_string(*number);
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    out += *flag ? "true" : "false";
  } else if (const auto* time = std::get_if<std::chrono::microseconds>(&value)) {
    append_milliseconds(out, *time);
  } else {
    append_text(out, std::get<std::string_view>(value));
  }
}

/// Most texts need no escapes.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

void append_json(std::string& out, std::string_view text) {
  if (is_plain(text)) {
    out.append("\"").append(text).append("\"");
  } else {
    out += json_string(text);
  }
}

void append_fields_text(std::string& out, std::string_view event,
                        std::span<const base::log_field> fields) {
  out += event;
  for (const auto& f : fields) {
    out.append(" ").append(f.name).append("=");
    append_value(out, f.value, [](std::string& out_text, std::string_view text) {
      out_text += plain_text(text);
    });
  }
}

void append_fields_json(std::string& out, std::string_view event,
                        std::span<const base::log_field> fields) {
  out += "\"event\":";
  append_json(out, event);
  for (const auto& f : fields) {
    out += ',';
    append_json(out, f.name);
    out += ':';
    append_value(out, f.value, append_json);
  }
}

/// The time as text. Most lines of a thread share their second with the line before.
void append_time(std::string& out, std::int64_t wall_ms) {
  constexpr std::size_t to_seconds = 19;  // 2026-01-31T12:00:00
  thread_local std::int64_t second = -1;
  thread_local std::string text;
  if (wall_ms / 1'000 != second) {
    second = wall_ms / 1'000;
    text = time_text(wall_ms).substr(0, to_seconds);
  }
  const auto digits = std::to_string(1'000 + wall_ms % 1'000);
  out.append(text).append(".").append(digits, 1).append("Z");
}

}  // namespace

log_lines::form log_lines::form_for(config::log_format wanted, int descriptor) {
  const bool attached = ::isatty(descriptor) == 1;
  if (wanted == config::log_format::automatic ? !attached : wanted == config::log_format::json) {
    return form::json_lines;
  }
  return attached && shows_colours() ? form::coloured : form::text;
}

void log_lines::append_line(std::string& out, form shown, base::log_level level,
                            std::string_view event, std::span<const base::log_field> fields) {
  const auto style = style_of(level);
  if (shown == form::json_lines) out += "{\"time\":\"";
  append_time(out, base::system_clock().wall_ms());
  if (shown == form::json_lines) {
    out.append("\",\"level\":\"").append(style.name).append("\",");
    append_fields_json(out, event, fields);
    out += "}\n";
    return;
  }
  out += ' ';
  const bool coloured = shown == form::coloured;
  if (coloured) out += style.colour;
  out.append(style.name).append(style.padding);
  if (coloured) out += "\x1b[m";
  out += ' ';
  append_fields_text(out, event, fields);
  out += '\n';
}

log_lines::log_lines(const config::log_params& params, int descriptor)
    : form_(form_for(params.format, descriptor)),
      least_(params.level),
      writer_(descriptor, room_for_lines, [how = form_](std::uint64_t count) {
        const std::array<base::log_field, 1> fields{{{"count", count}}};
        std::string line;
        append_line(line, how, base::log_level::warning,
                    base::info_of(base::event::log_lines_dropped).name, fields);
        return line;
      }) {}

void log_lines::write_line(base::log_level level, std::string_view event,
                           std::span<const base::log_field> fields) {
  if (level < least_) return;
  thread_local std::string line;
  line.clear();
  append_line(line, form_, level, event, fields);
  writer_.write(line);
}

void log_lines::write(const base::event_info& event, base::log_level level,
                      std::span<const base::log_field> fields) {
  if (event.recurring) {
    log_rate_limit::decision decision;
    {
      const std::lock_guard lock(mutex_);
      decision = limit_.decide(event.name, base::boot_now());
    }
    if (decision.left_out > 0) {
      const auto& info = base::info_of(base::event::lines_left_out);
      const std::array<base::log_field, 2> missing{
          {{"event_left_out", event.name}, {"count", decision.left_out}}};
      write_line(info.level, info.name, missing);
    }
    if (!decision.pass) {
      left_out_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  write_line(level, event.name, fields);
}

std::string log_text(std::string_view event, std::initializer_list<base::log_field> fields) {
  std::string out;
  append_fields_text(out, event, {fields.begin(), fields.size()});
  return out;
}

std::string log_json(std::string_view event, std::initializer_list<base::log_field> fields) {
  std::string out;
  append_fields_json(out, event, {fields.begin(), fields.size()});
  return out;
}

}  // namespace onceguard::cli
