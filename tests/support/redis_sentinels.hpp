// A Redis master with replicas and three sentinels that watch over it, of the tests' own.
#pragma once
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "support/redis_fleet.hpp"

namespace onceguard::testing {

/// One process.
class redis_sentinel {
 public:
  redis_sentinel(int master_port, int down_after_ms, const std::string& lines) {
    std::ofstream(folder_.file("conf"))
        << "port " << port_ << "\nbind 127.0.0.1\ndir " << folder_.path().string()
        << "\nsentinel monitor main 127.0.0.1 " << master_port
        << " 2\nsentinel down-after-milliseconds main " << down_after_ms
        << "\nsentinel failover-timeout main 6000\n"
        << lines;
    start();
  }
  redis_sentinel(const redis_sentinel&) = delete;
  redis_sentinel& operator=(const redis_sentinel&) = delete;
  ~redis_sentinel() { stop(); }
  /// With what it knew when it was stopped.
  void start() {
    process_ = begin_program({}, {"/usr/bin/redis-server", folder_.file("conf"), "--sentinel"},
                             folder_.file("log"));
    wait_until("a sentinel", [&] { return session().run({"PING"}) == "PONG"; });
    // Hurried, but for the pause that it takes when it was held up itself.
    session().run({"SENTINEL", "DEBUG", "info-period", "200", "publish-period", "200",
                   "ping-period", "200", "ask-period", "200", "tilt-trigger", "60000"});
  }
  void pause() const { ::kill(process_, SIGSTOP); }
  void stop() {
    if (process_ == 0) return;
    ::kill(process_, SIGCONT);
    ::kill(process_, SIGKILL);
    wait_for_end(std::exchange(process_, 0));
  }
  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] redis_session session() const { return redis_session(port_); }

 private:
  temporary_folder folder_;
  const int port_ = free_port();
  pid_t process_ = 0;
};

class redis_sentinels {
 public:
  /// `clock`: of the servers; null: the machine's.
  explicit redis_sentinels(std::shared_ptr<const server_clock> clock = nullptr,
                           std::size_t replicas = 1, const redis_settings& settings = {})
      : clock_(std::move(clock)), settings_(settings) {
    settings_.insert(settings_.end(), patient_replication.begin(), patient_replication.end());
    servers_.push_back(std::make_unique<redis_server>(settings_, clock_));
    for (std::size_t i = 0; i < replicas; ++i) {
      auto value = settings_;
      value.insert(value.end(), {"--replicaof", "127.0.0.1", std::to_string(servers_[0]->port())});
      servers_.push_back(std::make_unique<redis_server>(value, clock_));
    }
    for (int i = 0; i < 3; ++i) {
      sentinels_.push_back(
          std::make_unique<redis_sentinel>(servers_[0]->port(), clock_ ? 600'000 : 2'000, ""));
    }
    wait_until_whole();
  }

  [[nodiscard]] std::string url(const std::string& query = {}) const {
    std::string out = "redis+sentinel://";
    for (const auto& each : sentinels_) {
      out += (each == sentinels_.front() ? "127.0.0.1:" : ",127.0.0.1:") +
             std::to_string(each->port());
    }
    return out + "/main" + (query.empty() ? "" : "?" + query);
  }
  [[nodiscard]] redis_sentinel& sentinel(std::size_t i) { return *sentinels_.at(i); }
  /// Whom the last sentinel names.
  [[nodiscard]] redis_server& master() const {
    const auto port =
        sentinels_.back()->session().run({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"});
    for (const auto& each : servers_) {
      if (std::to_string(each->port()) == port) return *each;
    }
    throw std::runtime_error("the sentinels name a stranger");
  }
  [[nodiscard]] std::vector<redis_server*> servers() const {
    std::vector<redis_server*> out;
    for (const auto& each : servers_) out.push_back(each.get());
    return out;
  }

  /// Forgets all records, and what was loaded.
  void empty() const {
    master().session().run({"FLUSHALL"});
    master().session().run({"FUNCTION", "FLUSH"});
  }
  /// All run, the replicas are attached, and all sentinels know all of them.
  void wait_until_whole() const {
    const auto replicas = std::to_string(servers_.size() - 1);
    wait_until("sentinels that know all", [&] {
      const auto& master = this->master();
      for (const auto& each : servers_) {
        if (each.get() == &master ? !is_master(*each) : !is_attached(*each)) return false;
      }
      for (const auto& each : sentinels_) {
        const auto subject = each->session().list({"SENTINEL", "MASTER", "main"});
        const auto value = [&](const std::string& name) {
          const auto position = std::find(subject.begin(), subject.end(), name);
          return position == subject.end() ? std::string() : *std::next(position);
        };
        if (value("port") != std::to_string(master.port()) || value("flags") != "master") {
          return false;
        }
        if (value("num-slaves") != replicas || value("num-other-sentinels") != "2") return false;
      }
      return true;
    });
  }

 private:
  const std::shared_ptr<const server_clock> clock_;
  redis_settings settings_;
  std::vector<std::unique_ptr<redis_server>> servers_;
  std::vector<std::unique_ptr<redis_sentinel>> sentinels_;
};

}  // namespace onceguard::testing
