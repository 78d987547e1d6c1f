// What a signal means amid a selection: what is under way is finished, and nothing more is begun.
#pragma once
#include <csignal>

namespace onceguard::cli::messages {

/// While it lives, SIGTERM, SIGINT, SIGHUP and SIGQUIT are noted, unless whoever started this
/// process has them ignored (nohup). A second SIGINT ends the process. At most one lives at a time.
class orderly_stop {
 public:
  orderly_stop();
  orderly_stop(const orderly_stop&) = delete;
  orderly_stop& operator=(const orderly_stop&) = delete;
  ~orderly_stop();

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
