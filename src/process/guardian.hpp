// The process between this one and a command. It has a session of its own, so that what kills this
// process together with its group does not kill the guardian. A descendant of the command that
// loses its parent becomes a child of the guardian, so that none of the command's processes is lost
// from sight; when this process ends in whatever way, or is stopped for so long that its lease runs
// out, the guardian kills them all.
#pragma once
#include <csignal>
#include <cstdint>
#include <termios.h>

namespace onceguard::process {

/// From the guardian.
struct report {
  enum class kind : std::int32_t {
    started = 1,    ///< value: the command's process id
    failed = 2,     ///< value: the errno of the start
    ended = 3,      ///< value: the status, as of waitpid
    stopped = 4,    ///< value: the signal that stopped the command
    time_over = 5,  ///< the command is being ended, as its time is over
    beginning = 6,  ///< from here on the command may begin
    lost = 7        ///< value: the signal that ended the command's process before its program began
  };
  kind event;
  std::int32_t value;
};

/// Until when a command may run, in nanoseconds of CLOCK_BOOTTIME, which counts a suspend. 0: for
/// ever.
struct time_limit {
  std::int64_t warning = 0;  ///< then it gets SIGTERM
  std::int64_t end = 0;      ///< then all of it is killed
};

/// To the guardian.
struct order {
  enum class kind : std::int32_t {
    signal = 1,      ///< number: for the command's process group
    limit = 2,       ///< from now on
    foreground = 3,  ///< the command gets the keys of its terminal, and goes on
    leave = 4,       ///< end, and let what still runs go on
    kill = 5         ///< kill all, wait for their end, and end
  };
  kind type;
  std::int32_t number;
  time_limit limit;
};

/// Ends of a command's output: two pipes and a terminal.
inline constexpr int held_count = 3;

/// All that a guardian needs, in memory that is ready: it runs between fork and exec of a process
/// that may have threads, where no memory may be allocated and no lock taken.
struct guardian_task {
  char* const* words;
  char* const* variables;
  const char* folder;  ///< null: this process's
  int streams[3];      ///< become the descriptors 0 to 2; negative: as in this process
  int report_end;      ///< becomes `report_number`; negative: there is none
  int report_number;
  int control;           ///< the socket on which reports go and orders come
  int terminal;          ///< becomes the command's controlling terminal; negative: there is none
  bool foreground;       ///< the command has the keys of its terminal from the beginning
  const char* group;     ///< a control group for the command; null: there is none
  int group_open;        ///< its folder
  int held[held_count];  ///< read for ever where the command is left; negative: none
  int caller_terminal;   ///< gets `settings` back where this process is killed; negative: there is
                         ///< none
  termios settings;
  time_limit limit;
  sigset_t mask;  ///< of signals, for the command
  /// Signals that the command gets with their default action.
  const int* defaults;
  int default_count;
};

/// The life of the guardian: never returns.
[[noreturn]] void run_guardian(const guardian_task& task) noexcept;

}  // namespace onceguard::process
