#include "mcp/line_reader.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace onceguard::mcp {
namespace {

constexpr std::chrono::milliseconds poll_interval{5};

}  // namespace

line_reader::line_reader(int descriptor, std::function<bool()> must_wait, line_taker take,
                         std::function<void(std::string)> ended)
    : descriptor_(descriptor),
      must_wait_(std::move(must_wait)),
      take_(std::move(take)),
      ended_(std::move(ended)),
      wake_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { read(); }) {}

line_reader::~line_reader() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_, &one, sizeof one));
  thread_.join();
  ::close(wake_);
}

void line_reader::consumed(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  waiting_ -= bytes;
  changed_.notify_all();
}

bool line_reader::hand_over(std::string line) {
  {
    std::unique_lock lock(mutex_);
    while (!stopped_ && (waiting_ >= most_waiting || must_wait_())) {
      changed_.wait_for(lock, poll_interval);
    }
    if (stopped_) return false;
    waiting_ += line.size();
  }
  take_(std::move(line));
  return true;
}

void line_reader::read() {
  std::string held;
  std::array<char, 64u << 10> bytes;
  std::string fault;
  while (true) {
    std::array<pollfd, 2> waiting{{{descriptor_, POLLIN, 0}, {wake_, POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[1].revents != 0) return;
    const auto got = ::read(descriptor_, bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    std::string_view rest(bytes.data(), static_cast<std::size_t>(got));
    for (auto end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      held += rest.substr(0, end + 1);
      rest.remove_prefix(end + 1);
      if (!hand_over(std::exchange(held, {}))) return;
    }
    held += rest;
    if (held.size() > longest_line) {
      fault = "a line is longer than 64 MiB";
      break;
    }
  }
  // A last line without an end is passed on as it is.
  if (fault.empty() && !held.empty() && !hand_over(std::move(held))) return;
  ended_(std::move(fault));
}

}  // namespace onceguard::mcp
