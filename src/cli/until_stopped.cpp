#include "cli/until_stopped.hpp"

#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/log_file.hpp"
#include "cli/log_lines.hpp"

namespace onceguard::cli {
namespace {

/// Requests a stop at SIGTERM or SIGINT. A second SIGINT ends the process, as SIGKILL does.
class stop_signals {
 public:
  stop_signals(std::stop_source stop, log_lines& lines) : stop_(std::move(stop)), lines_(lines) {
    wait();
    thread_ = std::jthread([this] { io_.run(); });
  }
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals() { io_.stop(); }

 private:
  void wait() {
    signals_.async_wait([this](const boost::system::error_code& failed, int signal) {
      if (failed) return;
      take(signal);
      wait();
    });
  }

  void take(int signal) {
    if (signal == SIGINT && std::exchange(interrupted_, true)) {
      base::log(base::event::stopped_early);
      lines_.flush();
      std::_Exit(exit_failed);
    }
    if (stop_.stop_requested()) return;
    base::log(base::event::draining, {{"by", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
    stop_.request_stop();
  }

  std::stop_source stop_;
  log_lines& lines_;
  bool interrupted_ = false;
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_{io_, SIGTERM, SIGINT};
  std::jthread thread_;
};

}  // namespace

int run_until_stopped(const config::loaded& read,
                      const std::function<int(const std::stop_source&)>& work) {
  const auto& settings = read.values;
  for (const int other : {SIGPIPE, SIGUSR1, SIGUSR2, SIGTTOU}) std::signal(other, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it: no exit code would come
  const auto descriptor = log_descriptor(settings.log);
  if (!descriptor) return exit_failed;
  std::stop_source stop;
  log_lines lines(settings.log, *descriptor);
  base::set_log_sink(&lines);
  const stop_signals signals(stop, lines);
  log_remarks(read.remarks);
  const int code = work(stop);
  base::log(base::event::stopped);
  lines.flush();
  base::set_log_sink(nullptr);
  return code;
}

int start_listener(admin::server& listener) {
  if (const auto started = listener.start(); !started) {
    base::log(base::event::start_failed, {{"why", started.error().detail}});
    return started.error().code == errc::invalid_argument ? exit_configuration : exit_failed;
  }
  base::log(base::event::admin_listening, {{"address", listener.local().text()}});
  return exit_ok;
}

int start_failed(const std::string& table, const error& why) {
  base::log(base::event::start_failed, {{"why", table + ": " + why.detail}});
  const bool configured_wrongly = why.code == errc::invalid_argument ||
                                  why.code == errc::conflict || why.code == errc::not_found;
  return configured_wrongly ? exit_configuration : exit_failed;
}

}  // namespace onceguard::cli
