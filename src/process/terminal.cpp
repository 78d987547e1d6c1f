#include "process/terminal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace onceguard::process {
namespace {

bool ends_lines_with_two(const termios& settings) noexcept {
  return (settings.c_oflag & OPOST) != 0 && (settings.c_oflag & ONLCR) != 0;
}

bool are_equal(const termios& one, const termios& other) noexcept {
  return one.c_iflag == other.c_iflag && one.c_oflag == other.c_oflag &&
         one.c_cflag == other.c_cflag && one.c_lflag == other.c_lflag &&
         std::ranges::equal(one.c_cc, other.c_cc);
}

}  // namespace

result<channel> make_terminal(int model) {
  channel out{base::descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), base::descriptor()};
  std::array<char, 128> name{};
  const bool made = out.here.is_open() && ::grantpt(out.here.get()) == 0 &&
                    ::unlockpt(out.here.get()) == 0 &&
                    ::ptsname_r(out.here.get(), name.data(), name.size()) == 0;
  if (made) out.there = base::descriptor(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!out.there.is_open()) return channel_refusal("a terminal can't be made");
  copy_terminal_size(model, out.here.get());
  return out;
}

result<channel> make_output_terminal(int model) {
  auto out = make_terminal(model);
  if (!out) return out;
  termios settings{};
  // The real terminal edits and translates; this one must not do so before.
  if (::tcgetattr(out->there.get(), &settings) == 0) {
    ::cfmakeraw(&settings);
    ::tcsetattr(out->there.get(), TCSANOW, &settings);
  }
  return out;
}

void copy_terminal_size(int terminal, int here) noexcept {
  winsize size{};
  if (::ioctl(terminal, TIOCGWINSZ, &size) == 0) ::ioctl(here, TIOCSWINSZ, &size);
}

bool terminal::is(int descriptor) noexcept {
  return ::isatty(descriptor) == 1 && ::tcgetsid(descriptor) == ::getsid(0);
}

result<std::optional<terminal>> terminal::open() {
  base::descriptor callers(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  termios settings{};
  if (!callers.is_open() || ::tcgetattr(callers.get(), &settings) != 0) {
    return std::optional<terminal>();
  }
  auto made = make_terminal(callers.get());
  if (!made) return made.error();
  ::tcsetattr(made->there.get(), TCSANOW, &settings);
  ::fcntl(made->here.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  terminal out(std::move(callers), std::move(made->here), std::move(made->there), settings);
  ::tcgetattr(out.here(), &out.given_);
  // Later, a command that runs may be changing its own.
  out.copied_ = out.in_foreground();
  return std::optional<terminal>(std::move(out));
}

bool terminal::in_foreground() const noexcept { return ::tcgetpgrp(callers_.get()) == ::getpgrp(); }

bool terminal::take() noexcept {
  if (!in_foreground()) return false;
  termios now{};
  if (taken_ && ::tcgetattr(callers_.get(), &now) == 0 && (now.c_lflag & ICANON) == 0) return true;
  // Whoever had it meanwhile may have changed it.
  ::tcgetattr(callers_.get(), &settings_);
  if (!std::exchange(copied_, true)) copy_settings();
  termios raw = settings_;
  ::cfmakeraw(&raw);
  // The command's terminal edits, echoes and sends signals; lines are ended by this one.
  raw.c_oflag = output_flags_ = settings_.c_oflag;
  taken_ = ::tcsetattr(callers_.get(), TCSANOW, &raw) == 0;
  return taken_;
}

void terminal::copy_settings() noexcept {
  termios now{};
  // The command may have settings of its own by now.
  if (::tcgetattr(here_.get(), &now) != 0 || !are_equal(now, given_)) return;
  ::tcsetattr(here_.get(), TCSANOW, &settings_);
}

void terminal::give_back() noexcept {
  if (!taken_) return;
  taken_ = false;
  ::tcsetattr(callers_.get(), TCSANOW, &settings_);
}

void terminal::resize() const noexcept { copy_terminal_size(callers_.get(), here_.get()); }

void terminal::read_keys() {
  std::array<char, 1024> read{};
  const auto size = ::read(callers_.get(), read.data(), read.size());
  if (size > 0) {
    keys_.append(read.data(), static_cast<std::size_t>(size));
    tell_group({read.data(), static_cast<std::size_t>(size)});
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) return;
  give_back();  // it is gone, or belongs to another process now
  termios now{};
  gone_ = ::tcgetattr(callers_.get(), &now) != 0;
}

void terminal::end_keys() {
  termios now{};
  if (!keys_.empty() || ::tcgetattr(here_.get(), &now) != 0 || (now.c_lflag & ICANON) == 0) return;
  if (now.c_cc[VEOF] != _POSIX_VDISABLE) keys_ += static_cast<char>(now.c_cc[VEOF]);
}

void terminal::tell_group(std::string_view keys) const noexcept {
  termios now{};
  if (::tcgetattr(here_.get(), &now) != 0 || (now.c_lflag & ISIG) == 0) return;
  for (const char key : keys) {
    const auto code = static_cast<cc_t>(key);
    if (code == _POSIX_VDISABLE) continue;
    if (code == now.c_cc[VINTR]) ::kill(0, SIGINT);
    if (code == now.c_cc[VQUIT]) ::kill(0, SIGQUIT);
  }
}

void terminal::pass_keys() noexcept {
  const auto taken = ::write(here_.get(), keys_.data(), keys_.size());
  if (taken > 0) keys_.erase(0, static_cast<std::size_t>(taken));
  if (taken < 0 && errno != EAGAIN && errno != EINTR) keys_.clear();
}

void terminal::as_written(std::string& shown) noexcept {
  termios now{};
  if (::tcgetattr(here_.get(), &now) != 0) return;
  if (taken_ && now.c_oflag != output_flags_) {
    termios raw{};
    if (::tcgetattr(callers_.get(), &raw) == 0) {
      raw.c_oflag = output_flags_ = now.c_oflag;
      ::tcsetattr(callers_.get(), TCSANOW, &raw);
    }
  }
  if (!ends_lines_with_two(now)) {
    if (std::exchange(return_before_, false)) shown.insert(0, 1, '\r');
    return;
  }
  std::string out;
  out.reserve(shown.size() + 1);
  for (const char c : shown) {
    if (return_before_ && c != '\n') out += '\r';
    return_before_ = c == '\r';
    if (!return_before_) out += c;
  }
  shown = std::move(out);
}

}  // namespace onceguard::process
