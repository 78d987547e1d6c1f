#include "cli/log_lines.hpp"

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <poll.h>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>

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

struct line_writer::queue {
  queue(int descriptor, std::size_t most, missing_line line)
      : output(descriptor), room(most), missing(std::move(line)) {}

  void run();
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds at_most);

  const int output;
  const std::size_t room;
  const missing_line missing;
  std::mutex mutex;
  std::condition_variable filled;
  std::condition_variable emptied;
  std::deque<std::string> lines;
  std::size_t bytes = 0;
  std::uint64_t dropped = 0;
  bool writing = false;
  bool closing = false;
  bool given_up = false;  // a wait ended without success, and nothing has been written since

 private:
  bool put(std::string_view line);
  void say_what_is_missing(std::unique_lock<std::mutex>& lock);

  bool torn_ = false;  // the last write ended in the middle of a line
};

bool line_writer::queue::put(std::string_view line) {
  std::string apart;
  if (torn_) apart.append("\n").append(line), line = apart;
  const auto whole = line.size();
  while (!line.empty()) {
    const auto done = ::write(output, line.data(), line.size());
    if (done > 0) {
      line.remove_prefix(static_cast<std::size_t>(done));
    } else if (done < 0 && errno == EAGAIN) {
      // Another process that shares the descriptor has made it non-blocking.
      pollfd until{output, POLLOUT, 0};
      ::poll(&until, 1, -1);
    } else if (done == 0 || errno != EINTR) {
      torn_ = torn_ || line.size() < whole;
      return false;
    }
  }
  torn_ = false;
  return true;
}

void line_writer::queue::say_what_is_missing(std::unique_lock<std::mutex>& lock) {
  const auto count = dropped;
  lock.unlock();
  const bool reported = put(missing(count));
  lock.lock();
  if (reported) dropped -= count;
}

void line_writer::queue::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    filled.wait(lock, [this] { return closing || !lines.empty(); });
    if (lines.empty()) return;
    const auto line = std::move(lines.front());
    lines.pop_front();
    writing = true;
    lock.unlock();
    const bool written = put(line);
    lock.lock();
    bytes -= line.size();
    given_up = false;
    if (!written) {
      ++dropped;
    } else if (dropped > 0 && bytes <= room / 2) {
      say_what_is_missing(lock);
    }
    writing = false;
    if (lines.empty()) emptied.notify_all();
  }
}

bool line_writer::queue::wait(std::unique_lock<std::mutex>& lock,
                              std::chrono::milliseconds at_most) {
  given_up = !emptied.wait_for(lock, at_most, [this] { return lines.empty() && !writing; });
  return !given_up;
}

line_writer::line_writer(int descriptor, std::size_t room, missing_line missing)
    : queue_(std::make_shared<queue>(descriptor, room, std::move(missing))) {
  std::thread([q = queue_] { q->run(); }).detach();
}

line_writer::~line_writer() {
  std::unique_lock lock(queue_->mutex);
  if (!queue_->given_up) queue_->wait(lock, patience);
  queue_->closing = true;
  lock.unlock();
  queue_->filled.notify_one();
}

void line_writer::write(std::string line) {
  {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->bytes + line.size() > queue_->room) {
      ++queue_->dropped;
      return;
    }
    queue_->bytes += line.size();
    queue_->lines.push_back(std::move(line));
  }
  queue_->filled.notify_one();
}

bool line_writer::flush(std::chrono::milliseconds at_most) {
  std::unique_lock lock(queue_->mutex);
  return queue_->emptied.wait_for(lock, at_most,
                                  [this] { return queue_->lines.empty() && !queue_->writing; });
}

}  // namespace onceguard::cli
