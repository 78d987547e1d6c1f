// Commands that run once per key: a repeat gets the output and the exit code of the first run.
//
//   auto guard = onceguard::guard::open("sqlite:jobs.db").value();
//   onceguard::command job;
//   job.words = {"pg_dump", "--file", "/backup/shop.sql", "shop"};
//   const auto done = onceguard::run_command(guard, {"backups", "2026-11-26"}, job);
//   if (!done) return explain(done.error());
//   return done->value.exit_code;
//
// `onceguard exec` is the same for scripts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/callable.hpp>
#include <onceguard/execution.hpp>
#include <onceguard/guard.hpp>
#include <onceguard/request.hpp>

namespace onceguard {
inline namespace v1 {

/// A program and what it gets. The program also finds in its environment:
/// ONCEGUARD_IDEMPOTENCY_KEY, ONCEGUARD_ATTEMPT (1, 2, …), ONCEGUARD_TOKEN (the fencing token,
/// which grows with each attempt), ONCEGUARD_RECORD_LEASE (with which onceguard.complete in SQL
/// ends the lease) and ONCEGUARD_CONTROL_FD, the number of a descriptor. A line on it, `complete`,
/// `fail`, `release` or `unknown`, says how the run ends, whatever the exit code.
struct command {
  /// The program, looked for in PATH unless it contains a slash, and its arguments. No shell.
  std::vector<std::string> words;
  /// Variables beside those of this process, as names and values.
  std::vector<std::pair<std::string, std::string>> environment;
  /// The working directory; empty: this process's.
  std::string folder;
  /// Its standard input.
  std::string input;
};

/// The stream that a piece of output was written to.
enum class output_stream : std::uint8_t { out = 1, err = 2 };

/// Bytes that were written to one stream.
struct output_piece {
  output_stream stream = output_stream::out;  ///< which
  std::string bytes;                          ///< what
  /// Equal in both.
  friend bool operator==(const output_piece&, const output_piece&) = default;
};

/// How a command ended.
struct command_result {
  /// 0 to 255; 128 and the signal's number where a signal ended the command.
  int exit_code = 0;
  /// How the record was settled: only `complete` is kept for repeats.
  settle_kind settled = settle_kind::complete;
  /// What was written, in the order in which it came; at most `command_rules::keep_output` bytes.
  std::vector<output_piece> output;
  /// The size of all that was written, in bytes.
  std::uint64_t output_size = 0;
  /// The file with all output, if there is more of it than `output`; empty: there is none.
  std::string output_file;
  /// Why the record was not settled as complete, for people; empty: it was.
  std::string why;
  /// Equal in all members.
  friend bool operator==(const command_result&, const command_result&) = default;
};

/// What is kept of a command.
template <>
struct codec<command_result> {
  /// Exit code and output; the file stays where it is.
  static answer encode(const command_result& value);
  /// An answer of another kind with a status of 2xx, as an operator gives, is output, and the exit
  /// code is 0. errc::record_unreadable: the answer is none of a command.
  static result<command_result> decode(const answer& stored);
};

/// A command that runs. Thread-safe.
class running_command {
 public:
  running_command() = default;
  running_command(const running_command&) = delete;
  running_command& operator=(const running_command&) = delete;
  virtual ~running_command() = default;
  /// Sends a signal to the command's process group.
  virtual void signal(int number) const noexcept = 0;
  /// Tells the command that the terminal of this process has another size.
  virtual void resize_terminal() const noexcept = 0;
};

/// Where a command's standard streams lead.
enum class command_streams : std::uint8_t {
  captured,  ///< the input is command::input; the command has a process group of its own
  shared,    ///< the input is this process's, and its terminal stays the command's
};

/// How a command runs, and what its end means.
struct command_rules {
  /// lease, retention, unknown, on_busy, wait, backoff and backoff_max count. Null: the guard's.
  const route_policy* policy = nullptr;
  /// Exit codes that complete the record. 75 (EX_TEMPFAIL) never does: nothing happened, and the
  /// key is free at once.
  std::set<int> success{0};
  /// What another exit code means. `fail`: the command may run again after the back-off.
  settle_kind failure = settle_kind::fail;
  /// So many more attempts in this call after a failure, each after the back-off.
  std::size_t retries = 0;
  /// Longer than that, the command is ended, and its outcome is unknown. 0: as long as it takes.
  milliseconds timeout{0};
  /// A command that runs into its timeout, or whose lease is lost, gets SIGTERM, and after this
  /// time SIGKILL with all that it started. Nothing of it outlives the time of its lease, even if
  /// this process is stopped: then, SIGTERM comes a tenth of the lease before its end.
  milliseconds grace{10'000};
  /// False: a command whose lease is lost runs on. Another attempt may then run beside it.
  bool end_when_lost = true;
  /// Not zero: the command runs at most once in each such period, whenever its calls come. Then the
  /// policy's retention does not count.
  milliseconds every{0};
  /// Not zero: a success that is older does not count, and the command runs anew, however long its
  /// record was to be kept.
  milliseconds fresh_after{0};
  /// Bytes of output in the record.
  std::size_t keep_output = 256u << 10;
  /// Output beyond it is kept in a file in this directory, which is made; empty: it is not kept.
  std::string output_folder;
  /// Bytes of output in the file.
  std::uint64_t keep_in_file = 64u << 20;
  /// Where the streams lead.
  command_streams streams = command_streams::captured;
  /// The mask of blocked signals that the command gets, if not an empty one.
  const sigset_t* signal_mask = nullptr;
  /// Called with the output as it comes, and with that of the first run in a repeat. On the
  /// caller's thread. However long it takes, timeout and lease are kept, and a command that has
  /// ended is settled meanwhile: `keep_in_file` bytes may wait for it, and then the command waits.
  /// An exception ends the command if it runs, with its outcome unknown.
  callable<void(output_stream, std::string_view)> on_output;
  /// Called on a thread of the attempt when it begins. The object lives until `on_end`.
  callable<void(running_command&)> on_start;
  /// Called on that thread when no command runs any more.
  callable<void()> on_end;
  /// A stop request ends the wait for a running twin, and for the next attempt, and no command is
  /// started after the request. Whoever wants to end a running command sends it a signal.
  std::stop_token stop;
};

/// Runs the command once per key; blocks. What makes two requests the same is the request's
/// fingerprint: command_fingerprint, unless the caller knows better. Thread-safe.
///
/// A command that can't be started was not run: the key is free, and the exit code is 127 (there is
/// no such program) or 126. A command that a signal ended has an unknown outcome.
[[nodiscard]] execution<command_result> run_command(guard& guard, const request& request,
                                                    const command& command,
                                                    const command_rules& rules = {});

/// The words, each with its length.
[[nodiscard]] std::string command_fingerprint(const command& command);

/// For guard_params::probe: runs the command for each question, with ONCEGUARD_IDEMPOTENCY_KEY,
/// ONCEGUARD_TOKEN and ONCEGUARD_ATTEMPT in its environment, and the command's standard error where
/// this process has its own. Exit code 0: the operation took effect, and what is written to
/// standard output is the output of the first run; 1: it did not take effect; all others: not
/// known. A stop request ends a question that runs, whose answer is not known then.
[[nodiscard]] std::function<effect_report(const subject&, const lease&)> probe_by_command(
    command command, milliseconds timeout, std::stop_token stop = {});

}  // namespace v1
}  // namespace onceguard
