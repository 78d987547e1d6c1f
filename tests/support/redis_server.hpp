// A Redis server of the tests' own: on a free port of this machine, in a temporary folder, gone
// with the tests. It keeps nothing unless asked.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/free_port.hpp"
#include "support/redis_session.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

/// What a server is started with besides its place, as on its command line.
using redis_settings = std::vector<std::string>;

/// A wall clock of servers that stands, and that a test moves.
class server_clock {
 public:
  server_clock() { set(1'700'000'000'000); }
  [[nodiscard]] std::string path() const { return folder_.file("clock"); }
  void set(std::int64_t now) const {
    std::fstream out(path(), std::ios::binary | std::ios::in | std::ios::out);
    if (!out) out.open(path(), std::ios::binary | std::ios::out);
    out.write(reinterpret_cast<const char*>(&now), sizeof now);
    if (!out.flush()) throw std::runtime_error("the clock can't be set");
  }

 private:
  temporary_folder folder_;
};

class redis_server {
 public:
  /// With a clock of its own where it is to stand `still`.
  explicit redis_server(redis_settings settings = {}, bool still = false)
      : redis_server(std::move(settings), still ? std::make_shared<server_clock>() : nullptr) {}
  /// Null: with the machine's clock.
  redis_server(redis_settings settings, std::shared_ptr<const server_clock> clock)
      : settings_(std::move(settings)), clock_(std::move(clock)) {
    start();
  }
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;
  ~redis_server() { stop(SIGKILL); }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url(const std::string& query = {}) const {
    return url_at(port_, query);
  }
  [[nodiscard]] static std::string url_at(int port, const std::string& query = {}) {
    return "redis://127.0.0.1:" + std::to_string(port) + (query.empty() ? "" : "?" + query);
  }
  [[nodiscard]] redis_session session() const { return redis_session(port_); }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

  void set_clock(std::int64_t now) const { clock_->set(now); }

  /// Starts it and waits until it answers.
  void start() {
    if (server_) return;
    server_ = begin_program({}, command(), file("log"));
    while (!answers()) {
      if (::waitpid(*server_, nullptr, WNOHANG) != 0) {
        server_.reset();
        throw std::runtime_error("redis-server does not start: " + what_it_said());
      }
      ::poll(nullptr, 0, 2);
    }
  }
  /// SIGTERM ends it orderly, SIGKILL as a crash does.
  void stop(int signal = SIGTERM) {
    if (!server_) return;
    go_on();
    ::kill(*server_, signal);
    wait_for_end(*server_);
    server_.reset();
  }
  [[nodiscard]] bool running() const noexcept { return server_.has_value(); }
  /// None of its threads runs any more when this returns.
  void pause() const {
    ::kill(server_.value(), SIGSTOP);
    int status = 0;
    ::waitpid(server_.value(), &status, WUNTRACED);
  }
  void go_on() const { ::kill(server_.value(), SIGCONT); }

  [[nodiscard]] std::string what_it_said() const {
    std::ostringstream out;
    out << std::ifstream(file("log")).rdbuf();
    return out.str();
  }

 private:
  [[nodiscard]] std::vector<std::string> command() const {
    std::vector<std::string> out;
    if (clock_) {
      out = {"/usr/bin/env", "LD_PRELOAD=" + clock_library(),
             "ONCEGUARD_TEST_CLOCK=" + clock_->path()};
    }
    const std::vector<std::string> usual{"/usr/bin/redis-server",
                                         "--port",
                                         std::to_string(port_),
                                         "--bind",
                                         "127.0.0.1",
                                         "--dir",
                                         folder_.path().string(),
                                         "--save",
                                         "",
                                         "--enable-debug-command",
                                         "yes"};
    out.insert(out.end(), usual.begin(), usual.end());
    // Its allocator's thread sleeps until a wall time, and would not sleep at all.
    if (clock_) out.insert(out.end(), {"--jemalloc-bg-thread", "no"});
    out.insert(out.end(), settings_.begin(), settings_.end());
    return out;
  }

  /// Built beside the tests.
  [[nodiscard]] static std::string clock_library() {
    const auto tests = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return (tests / "libtest_clock.so").string();
  }

  /// Also where it wants a password first.
  [[nodiscard]] bool answers() const {
    try {
      const auto reply = session().run({"PING"});
      return reply == "PONG";
    } catch (const std::runtime_error& why) {
      return std::string(why.what()).starts_with("NOAUTH");
    }
  }

  const redis_settings settings_;
  const std::shared_ptr<const server_clock> clock_;
  temporary_folder folder_;
  const int port_ = free_port();
  std::optional<pid_t> server_;
};

}  // namespace onceguard::testing
