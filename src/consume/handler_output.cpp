#include "consume/handler_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/log.hpp"

namespace onceguard::consume {
namespace {

constexpr std::size_t pipe_read_size = 64u << 10;

}  // namespace

handler_output::handler_output(std::string subscriber)
    : subscriber_(std::move(subscriber)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] { run(); });
}

handler_output::~handler_output() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake();
  thread_.join();
}

void handler_output::wake() const noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
}

result<base::descriptor> handler_output::begin(const std::string& message, std::uint32_t attempt) {
  auto made = process::make_output_pipe();
  if (!made) return made.error();
  // One thread reads the pipes of all handlers: no one of them may keep it.
  ::fcntl(made->here.get(), F_SETFL, O_NONBLOCK);
  {
    const std::lock_guard lock(mutex_);
    begun_.push_back({std::move(made->here), message, attempt});
  }
  wake();
  return std::move(made->there);
}

void handler_output::run() {
  std::list<source> all;
  for (bool ending = false; !ending;) {
    std::vector<pollfd> waiting{{wake_.get(), POLLIN, 0}};
    for (const auto& one : all) waiting.push_back({one.pipe.get(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    std::uint64_t taken = 0;
    static_cast<void>(::read(wake_.get(), &taken, sizeof taken));
    {
      const std::lock_guard lock(mutex_);
      all.splice(all.end(), begun_);
      ending = ending_;
    }
    for (auto one = all.begin(); one != all.end();) {
      if (read(*one) && !ending) {
        ++one;
        continue;
      }
      end(*one);
      one = all.erase(one);
    }
  }
}

bool handler_output::read(source& one) const {
  std::array<char, pipe_read_size> bytes;
  const auto got = ::read(one.pipe.get(), bytes.data(), bytes.size());
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  take(one, {bytes.data(), static_cast<std::size_t>(got)});
  return got > 0;
}

void handler_output::take(source& one, std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto end = std::min(bytes.find('\n'), bytes.size());
    const auto room = one.lines < lines_max ? line_max - one.line.size() : 0;
    one.line += bytes.substr(0, std::min(end, room));
    one.left_out += end - std::min(end, room);
    if (end == bytes.size()) return;
    end_line(one);
    bytes.remove_prefix(end + 1);
  }
}

void handler_output::end_line(source& one) const {
  const auto line = std::exchange(one.line, {});
  if (line.empty()) return;
  ++one.lines;
  base::log(base::event::handler_output, {{"subscriber", std::string_view(subscriber_)},
                                          {"message", std::string_view(one.message)},
                                          {"attempt", one.attempt},
                                          {"line", std::string_view(line)}});
}

void handler_output::end(source& one) const {
  end_line(one);
  if (one.left_out == 0) return;
  base::log(base::event::handler_output_cut, {{"subscriber", std::string_view(subscriber_)},
                                              {"message", std::string_view(one.message)},
                                              {"attempt", one.attempt},
                                              {"bytes", one.left_out}});
}

}  // namespace onceguard::consume
