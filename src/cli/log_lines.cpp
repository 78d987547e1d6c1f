#include "cli/log_lines.hpp"

#include <cstdlib>
#include <unistd.h>

#include "base/clock.hpp"
#include "cli/json_text.hpp"

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

template <class Text>
std::string value_of(const base::log_value& value, const Text& text) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return text(std::get<std::string>(value));
}

std::string text_of(const base::log_value& value) { return value_of(value, plain_text); }
std::string json_of(const base::log_value& value) {
  return value_of(value, [](const std::string& text) { return json_string(text); });
}

}  // namespace

log_lines::form log_lines::form_for(config::log_format wanted) {
  const bool attached = ::isatty(STDERR_FILENO) == 1;
  if (wanted == config::log_format::automatic ? !attached : wanted == config::log_format::json) {
    return form::json;
  }
  return attached && shows_colours() ? form::coloured : form::text;
}

std::string log_lines::line_of(form shown, base::log_level level, std::string_view event,
                               std::initializer_list<base::log_field> fields) {
  const auto style = style_of(level);
  std::string line = shown == form::json ? "{\"time\":\"" : "";
  line += time_text(base::system_clock().wall_ms());
  if (shown == form::json) {
    line.append("\",\"level\":\"").append(style.name).append("\",");
    return line.append(log_json(event, fields)).append("}\n");
  }
  line += ' ';
  const bool coloured = shown == form::coloured;
  if (coloured) line += style.colour;
  line.append(style.name).append(style.padding);
  if (coloured) line += "\x1b[m";
  return line.append(" ").append(log_text(event, fields)).append("\n");
}

log_lines::log_lines(const config::log_params& params)
    : form_(form_for(params.format)),
      least_(params.level),
      writer_(STDERR_FILENO, room_for_lines, [how = form_](std::uint64_t count) {
        return line_of(how, base::log_level::warning,
                       base::info_of(base::event::log_lines_dropped).name, {{"count", count}});
      }) {}

void log_lines::write_line(base::log_level level, std::string_view event,
                           std::initializer_list<base::log_field> fields) {
  if (level >= least_) writer_.write(line_of(form_, level, event, fields));
}

void log_lines::write(const base::event_info& event, base::log_level level,
                      std::initializer_list<base::log_field> fields) {
  if (event.recurring) {
    log_rate_limit::decision decision;
    {
      const std::lock_guard lock(mutex_);
      decision = limit_.decide(event.name, base::boot_now());
    }
    if (decision.left_out > 0) {
      write_line(base::info_of(base::event::lines_left_out).level,
                 base::info_of(base::event::lines_left_out).name,
                 {{"event_left_out", event.name}, {"count", decision.left_out}});
    }
    if (!decision.pass) return;
  }
  write_line(level, event.name, fields);
}

std::string log_text(std::string_view event, std::initializer_list<base::log_field> fields) {
  std::string line(event);
  for (const auto& f : fields) {
    line += ' ';
    line += f.name;
    line += '=';
    line += text_of(f.value);
  }
  return line;
}

std::string log_json(std::string_view event, std::initializer_list<base::log_field> fields) {
  std::string line = "\"event\":" + json_string(event);
  for (const auto& f : fields) {
    line += ',';
    line += json_string(f.name);
    line += ':';
    line += json_of(f.value);
  }
  return line;
}

}  // namespace onceguard::cli
