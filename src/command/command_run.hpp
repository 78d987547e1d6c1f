// One attempt of a command, under a lease.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include <onceguard/command.hpp>

#include "command/output.hpp"
#include "process/child.hpp"

namespace onceguard {

/// How an attempt ended.
struct attempt_result {
  command_result result;
  settle_terms terms;
};

class command_run final : public running_command {
 public:
  command_run(const command& command, const command_rules& rules, collected_output& output);

  /// Runs the command; blocks. `environment` goes in front of that of this process.
  [[nodiscard]] attempt_result run(std::vector<std::string> environment, std::stop_token lost);

  void signal(int number) const noexcept override;
  void resize_terminal() const noexcept override;

 private:
  enum class ended_by : std::uint8_t { itself, lost_lease, timeout };

  [[nodiscard]] result<void> make_channels();
  [[nodiscard]] result<process::channel> make_output(int stream);
  void follow(std::stop_token lost);
  /// Reads what there is. False: the other end is closed.
  bool read_output(process::descriptor& source, output_stream stream);
  bool read_control();
  void close(process::channel& output);
  void feed_input();
  void drain();
  void end_command(ended_by why);
  [[nodiscard]] attempt_result not_started(const process::start_failure& why) const;
  [[nodiscard]] attempt_result conclude();
  /// What the command reported on its control descriptor, or its exit code says.
  void conclude_by_code(attempt_result& out) const;

  const command& command_;
  const command_rules& rules_;
  collected_output& output_;
  mutable std::mutex mutex_;  ///< of the ends here of the output, for resize_terminal
  process::channel stdin_;
  process::channel stdout_;
  process::channel stderr_;
  process::channel control_;
  bool out_is_terminal_ = false;
  bool err_is_terminal_ = false;
  std::string_view input_;  // what the command has not read yet
  std::string reported_;    // by the command, on its control descriptor
  std::optional<process::child> child_;
  ended_by why_ended_ = ended_by::itself;
  process::time_point kill_at_ = process::time_point::max();
};

}  // namespace onceguard
