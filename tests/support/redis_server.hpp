// A Redis server of the tests' own: on a free port of this machine, in a temporary folder, gone
// with the tests. It keeps nothing unless asked.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
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

class redis_server {
 public:
  /// `still`: its wall clock stands, and a test moves it.
  explicit redis_server(redis_settings settings = {}, bool still = false)
      : settings_(std::move(settings)), still_(still) {
    if (still_) set_clock(1'700'000'000'000);
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

  void set_clock(std::int64_t now) {
    std::fstream out(file("clock"), std::ios::binary | std::ios::in | std::ios::out);
    if (!out) out.open(file("clock"), std::ios::binary | std::ios::out);
    out.write(reinterpret_cast<const char*>(&now), sizeof now);
    if (!out.flush()) throw std::runtime_error("the clock can't be set");
  }

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
  void pause() const { ::kill(server_.value(), SIGSTOP); }
  void go_on() const { ::kill(server_.value(), SIGCONT); }

  [[nodiscard]] std::string what_it_said() const {
    std::ostringstream out;
    out << std::ifstream(file("log")).rdbuf();
    return out.str();
  }

 private:
  [[nodiscard]] std::vector<std::string> command() const {
    std::vector<std::string> out;
    if (still_) {
      out = {"/usr/bin/env", "LD_PRELOAD=" + clock_library(),
             "ONCEGUARD_TEST_CLOCK=" + file("clock")};
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
      const auto said = session().run({"PING"});
      return said == "PONG";
    } catch (const std::runtime_error& why) {
      return std::string(why.what()).starts_with("NOAUTH");
    }
  }

  const redis_settings settings_;
  const bool still_;
  temporary_folder folder_;
  const int port_ = free_port();
  std::optional<pid_t> server_;
};

}  // namespace onceguard::testing
