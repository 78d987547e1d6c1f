#include "cli/log_lines.hpp"

#include <unistd.h>

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/clock.hpp"
#include "cli/json_text.hpp"

namespace onceguard::cli {
namespace {

bool wants_json(config::log_format format) {
  if (format == config::log_format::automatic) return ::isatty(STDERR_FILENO) == 0;
  return format == config::log_format::json;
}

spdlog::level::level_enum level_of(base::log_level level) {
  switch (level) {
    case base::log_level::debug:
      return spdlog::level::debug;
    case base::log_level::info:
      return spdlog::level::info;
    case base::log_level::warning:
      return spdlog::level::warn;
    case base::log_level::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

log_lines::log_lines(const config::log_params& params) : json_(wants_json(params.format)) {
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (json_) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>();
  }
  logger_ = std::make_shared<spdlog::logger>("onceguard", std::move(sink));
  logger_->set_pattern(json_ ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                             : "%Y-%m-%dT%H:%M:%S.%eZ %^%-7l%$ %v",
                       spdlog::pattern_time_type::utc);
  logger_->set_level(level_of(params.level));
  logger_->flush_on(spdlog::level::debug);
}

log_lines::~log_lines() = default;

void log_lines::write(base::log_level level, std::string_view event,
                      std::initializer_list<base::log_field> fields) {
  const auto own = level_of(level);
  if (!logger_->should_log(own)) return;
  const auto line = json_ ? log_json(event, fields) : log_text(event, fields);
  logger_->log(own, spdlog::string_view_t(line.data(), line.size()));
}

void log_lines::write_recurring(base::log_level level, std::string_view event,
                                std::initializer_list<base::log_field> fields) {
  flood_gate::decision may;
  {
    const std::lock_guard lock(mutex_);
    may = gate_.look(event, base::boot_now());
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
