#include "cli/log_lines.hpp"

#include <cstdlib>
#include <unistd.h>

#include "base/clock.hpp"
#include "cli/json_text.hpp"

namespace onceguard::cli {
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

}  // namespace

log_lines::form log_lines::form_for(config::log_format wanted) {
  const bool attached = ::isatty(STDERR_FILENO) == 1;
  if (wanted == config::log_format::automatic ? !attached : wanted == config::log_format::json) {
    return form::json;
  }
  return attached && shows_colours() ? form::coloured : form::text;
}

std::string log_lines::line_of(form request, base::log_level level, std::string_view event,
                               std::initializer_list<base::log_field> fields) {
  const auto inspection = style_of(level);
  std::string line = request == form::json ? "{\"time\":\"" : "";
  line += time_text(base::system_clock().wall_ms());
  if (request == form::json) {
    line.append("\",\"level\":\"").append(inspection.name).append("\",");
    return line.append(log_json(event, fields)).append("}\n");
  }
  line += ' ';
  const bool coloured = request == form::coloured;
  if (coloured) line += inspection.colour;
  line.append(inspection.name).append(inspection.padding);
  if (coloured) line += "\x1b[m";
  return line.append(" ").append(log_text(event, fields)).append("\n");
}

log_lines::log_lines(const config::log_params& params)
    : form_(form_for(params.format)),
      least_(params.level),
      writer_(STDERR_FILENO, room_for_lines, [how = form_](std::uint64_t count) {
        return line_of(how, base::log_level::warning, "log-lines-dropped",
                       {{"count", std::to_string(count)}});
      }) {}

void log_lines::write(base::log_level level, std::string_view event,
                      std::initializer_list<base::log_field> fields) {
  if (level >= least_) writer_.write(line_of(form_, level, event, fields));
}

void log_lines::write_recurring(base::log_level level, std::string_view event,
                                std::initializer_list<base::log_field> fields) {
  log_rate_limit::decision may;
  {
    const std::lock_guard lock(mutex_);
    may = limit_.inspection(event, base::boot_now());
  }
  if (may.left_out > 0) {
    write(base::log_level::warning, "lines-left-out",
          {{"of", std::string(event)}, {"count", std::to_string(may.left_out)}});
  }
  if (may.pass) write(level, event, fields);
}

std::string log_text(std::string_view event, std::initializer_list<base::log_field> fields) {
  std::string line(event);
  for (const auto& f : fields) {
    line += ' ';
    line += f.name;
    line += '=';
    line += plain_text(f.value);
  }
  return line;
}

std::string log_json(std::string_view event, std::initializer_list<base::log_field> fields) {
  std::string line = "\"event\":" + json_string(event);
  for (const auto& f : fields) {
    line += ',';
    line += json_string(f.name);
    line += ':';
    line += json_string(f.value);
  }
  return line;
}

}  // namespace onceguard::cli
