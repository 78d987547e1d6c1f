// What a signal means amid a selection: what is under way is finished, and nothing more is begun.
#pragma once
#include <csignal>

namespace onceguard::cli::messages {

/// While it lives, SIGTERM, SIGINT, SIGHUP and SIGQUIT are noted, unless whoever started this
/// process has them ignored (nohup). A second SIGINT ends the process. At most one lives at a time.
class stop_signals {
 public:
  stop_signals();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals();

  /// "SIGTERM" …; null: none has come.
  [[nodiscard]] static const char* signal() noexcept;

 private:
  struct former {
    int number;
    struct sigaction action;
  };
  former former_[4];
};

}  // namespace onceguard::cli::messages
