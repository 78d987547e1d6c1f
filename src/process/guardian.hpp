// The process between this one and a command. A descendant of the command that loses its parent
// becomes a child of the guardian, so that none of the command's processes is lost from sight; and
// when this process ends in whatever way, the guardian kills them all.
#pragma once
#include <csignal>
#include <cstdint>

namespace onceguard::process {

/// From the guardian.
struct report {
  enum class kind : std::int32_t {
    started = 1,  ///< value: the command's process id
    failed = 2,   ///< value: the errno of the start
    ended = 3,    ///< value: the status, as of waitpid
  };
  kind event;
  std::int32_t value;
};

/// To the guardian: a signal's number for the command, or one of these.
inline constexpr std::int32_t order_leave = 0;  ///< end, and let what still runs go on
inline constexpr std::int32_t order_kill = -1;  ///< kill all, wait for their end, and end

/// All that a guardian needs, in memory that is ready: it runs between fork and exec of a process
/// that may have threads, where no memory may be allocated and no lock taken.
struct guardian_task {
  char* const* words;
  char* const* variables;
  const char* folder;  ///< null: this process's
  int streams[4];      ///< become the descriptors 0 to 3; negative: as in this process, no 3
  int control;         ///< the socket on which reports go and orders come
  bool new_group;      ///< the command begins a process group
  sigset_t mask;       ///< of signals, for the command
  /// Signals that the command gets with their default action.
  const int* defaults;
  int default_count;
};

/// The life of the guardian: never returns.
[[noreturn]] void run_guardian(const guardian_task& task) noexcept;

}  // namespace onceguard::process
