// From one process of the gateway to the next: the sockets that a process is given at its start,
// and how the running one gives its own to a successor.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <onceguard/error.hpp>

#include "base/descriptor.hpp"
#include "process/passed_sockets.hpp"
#include "process/successor_starter.hpp"

namespace onceguard::config {
struct settings;
}  // namespace onceguard::config

namespace onceguard::http1 {
struct passed_listener;
}  // namespace onceguard::http1

namespace onceguard::cli::services {

/// From the start of a successor until it takes requests: stores may have a long way to open.
inline constexpr std::chrono::seconds start_patience{120};

/// Which sockets of the former process its successor has; the files of others go.
struct taken_sockets {
  bool admin = true;
  bool serve = true;
};

/// The former process, as its successor sees it.
class predecessor {
 public:
  predecessor() = default;
  predecessor(base::descriptor line, pid_t number) : line_(std::move(line)), number_(number) {}

  /// Tells it that this process takes requests, so that it takes no more; and which of its sockets
  /// this one has. Returns once it has announced the main process to the service manager, or is
  /// gone. Without a predecessor, nothing happens.
  void relieve(const taken_sockets& took);
  /// Whether relieve() has returned. Until then the files of its sockets are the predecessor's,
  /// which goes on where this process can't start.
  [[nodiscard]] std::shared_ptr<const std::atomic<bool>> relieved() const { return relieved_; }

 private:
  base::descriptor line_;
  pid_t number_ = 0;
  std::shared_ptr<std::atomic<bool>> relieved_ = std::make_shared<std::atomic<bool>>(false);
};

/// What a process was given at its start, by the service manager or by its predecessor.
struct given_sockets {
  std::vector<base::descriptor> gateway;  ///< empty: none
  base::descriptor admin;
  base::descriptor serve;
  bool made_admin_file = false;  ///< the former process did; so it goes with this one
  bool made_serve_file = false;
  predecessor former;

  /// Before the sockets are released.
  [[nodiscard]] taken_sockets taken() const noexcept { return {admin.is_open(), serve.is_open()}; }
  /// To listen with; releases the socket.
  [[nodiscard]] http1::passed_listener pass_admin();
  [[nodiscard]] http1::passed_listener pass_serve();
};

/// Whether another process waits for this one to take its place.
[[nodiscard]] bool have_predecessor(const std::vector<process::passed_socket>& passed) noexcept;

/// Ends a successor whose start takes longer than `start_patience`: beside a running predecessor,
/// which waits for as long, and also without, once that is gone. `logs`: lines go where the
/// configuration says.
[[noreturn]] void end_late_start(bool logs);

/// What tells the configured store from others, without passwords.
[[nodiscard]] std::string store_text(const config::settings& settings);

/// Sorts the passed sockets by their names, "gateway", "admin" and "serve", or else by their
/// addresses. What can't be used is logged, and closed. The error says which socket contradicts the
/// configuration, or that the predecessor has another store: what runs there would run here once
/// more.
[[nodiscard]] result<given_sockets> sort_sockets(std::vector<process::passed_socket> passed,
                                                 const config::settings& settings);

/// A successor while it starts, as the running process sees it. Belongs to the thread of the
/// io_context.
class succession {
 public:
  struct inheritance {
    std::string listen;  ///< as the configuration of the running process says
    std::string admin;
    std::string serve;
    bool made_admin_file = false;
    bool made_serve_file = false;
    std::string store;                                 ///< as store_text() has it
    std::vector<std::pair<std::string, int>> sockets;  ///< by their names
  };

  /// What the successor says when it takes requests.
  struct word {
    pid_t number = 0;
    taken_sockets took{};
  };

  explicit succession(boost::asio::io_context& io, process::successor_starter& starter,
                      std::chrono::milliseconds patience = start_patience)
      : starter_(starter), line_(io), limit_(io), patience_(patience) {}
  succession(const succession&) = delete;
  succession& operator=(const succession&) = delete;
  /// A successor that has said nothing by then is killed: it would keep the sockets.
  ~succession();

  /// Later calls `ready` once the new process takes requests, or `failed` with its number if it
  /// ends before. Returns its number.
  [[nodiscard]] result<pid_t> begin(const inheritance& left, std::function<void(const word&)> ready,
                                    std::function<void(pid_t)> failed);
  [[nodiscard]] bool under_way() const noexcept { return line_.is_open(); }
  /// Why no process can take over from this one; empty: one can.
  [[nodiscard]] std::string refusal(bool store_is_shared) const;
  /// A signal that this process has got may be meant for whoever takes requests: the successor gets
  /// it too, once it does.
  void pass_on(int signal);
  /// The successor may speak to the service manager from now on.
  void confirm();
  /// Who ends this process means its successor, too. It gets SIGTERM, and is killed if it goes on
  /// starting all the same.
  void stop();

 private:
  void kill_after(std::chrono::milliseconds patience);
  void wait_for_message(pid_t successor);

  process::successor_starter& starter_;
  boost::asio::posix::stream_descriptor line_;
  boost::asio::steady_timer limit_;
  const std::chrono::milliseconds patience_;
  std::function<void(const word&)> ready_;
  std::function<void(pid_t)> failed_;
  base::descriptor handle_;  // of the successor
  std::vector<int> kept_;    // signals for it
  bool confirmed_ = false;
};

}  // namespace onceguard::cli::services
