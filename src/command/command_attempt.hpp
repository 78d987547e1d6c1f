// One attempt of a command, under a lease.
#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include <onceguard/command.hpp>

#include "command/command_streams.hpp"
#include "process/child.hpp"

namespace onceguard {

/// EX_TEMPFAIL of sysexits.h: nothing happened.
inline constexpr int exit_temporary = 75;

/// How an attempt ended.
struct attempt_result {
  command_result result;
  settle_terms terms;
  bool lost_lease = false;  ///< for that, the command was ended
};

/// Nothing was run, and nothing is wrong with the command: the key is free.
[[nodiscard]] attempt_result nothing_run(const std::string& why);

/// The lease of an attempt.
struct attempt_lease {
  std::stop_token lost;
  milliseconds length{0};
  /// How much of it is left. Null: the attempt has none.
  std::function<milliseconds()> left;
};

class command_attempt final : public running_command {
 public:
  /// `queue`: what is to be shown; null: nothing is.
  command_attempt(const command& command, const command_rules& rules, collected_output& output,
                  output_queue* queue);

  /// Runs the command; blocks, but never for a reader of its output. `environment` goes in front of
  /// that of this process.
  [[nodiscard]] attempt_result run(std::vector<std::string> environment, attempt_lease held);
  /// Ends it from another thread: nobody wants to know its result.
  void give_up() noexcept;
  [[nodiscard]] bool given_up() const noexcept { return given_up_; }
  /// The command began: whatever it did may have taken effect.
  [[nodiscard]] bool started() const noexcept { return child_.has_value(); }

  void signal(int number) const noexcept override;
  void resize_terminal() const noexcept override;

 private:
  enum class ended_by : std::uint8_t { itself, lost_lease, timeout };

  void follow(const attempt_lease& held);
  /// Looks at all that may end the command. False: it may not go on.
  bool poll_ends(const attempt_lease& held);
  /// Once more: the lease was renewed meanwhile.
  void renew_limit(const attempt_lease& held);
  [[nodiscard]] process::run_limit limit_of(const attempt_lease& held) const;
  void wake() const noexcept;
  void end_command(ended_by why);
  /// What stopped the command stops this process as well, as its shell expects.
  void stop_with_command(int number);
  [[nodiscard]] attempt_result conclude();
  /// What the command reported on its control descriptor, or its exit code says.
  void conclude_by_code(attempt_result& out) const;

  const command& command_;
  const command_rules& rules_;
  command_streams_here streams_;
  base::descriptor wake_;
  std::optional<process::child> child_;
  process::run_limit limit_;
  process::time_point end_ = process::time_point::max();
  process::time_point kill_at_ = process::time_point::max();
  ended_by why_ended_ = ended_by::itself;
  std::atomic<bool> given_up_{false};
};

}  // namespace onceguard
