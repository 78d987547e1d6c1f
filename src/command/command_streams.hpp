// Where a command's standard streams lead, and its terminal.
#pragma once
#include <array>
#include <mutex>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>

#include <onceguard/command.hpp>

#include "command/collected_output.hpp"
#include "command/output_queue.hpp"
#include "process/child.hpp"

namespace onceguard {

/// The ends here of what a command reads and writes. Thread-safety: resize() may be called from any
/// thread while the object lives; all else by one.
class command_streams_here {
 public:
  /// `queue`: what is to be shown; null: nothing is.
  command_streams_here(const command& command, const command_rules& rules, collected_output& kept,
                       output_queue* queue);

  [[nodiscard]] result<void> open();
  /// The ends there, for the start of the command.
  void give(process::child_params& params);
  /// The command has the ends there now.
  void started();

  [[nodiscard]] process::terminal* terminal() noexcept { return terminal_ ? &*terminal_ : nullptr; }
  /// The command has asked for the keys of its terminal, or has them from the beginning.
  [[nodiscard]] bool wants_keys() const noexcept { return wants_keys_; }
  void want_keys() noexcept { wants_keys_ = true; }
  /// Lines that the command wrote to its control descriptor; the last one counts.
  [[nodiscard]] const std::string& reported() const noexcept { return reported_; }

  using poll_set = std::array<pollfd, 6>;
  /// What can be read and written now.
  [[nodiscard]] poll_set wanted();
  /// Reads and writes it. None of it blocks.
  void move(const poll_set& ready);
  /// After the command's end: what is on its way, for a while.
  void drain();
  /// Tells the command's terminals the size of the real one. False: the command does not know it.
  bool resize() const noexcept;
  /// Gives the real terminal back.
  void end();

 private:
  [[nodiscard]] result<process::channel> make_output(int stream);
  /// Reads what there is. False: the other end is closed.
  bool read_output(int source, std::optional<output_stream> stream);
  bool read_report();
  void feed_input();

  const command_rules& rules_;
  collected_output& kept_;
  output_queue* const queue_;
  mutable std::mutex mutex_;  ///< of what resize() uses
  std::optional<process::terminal> terminal_;
  process::channel stdin_;
  process::channel stdout_;
  process::channel stderr_;
  process::channel report_;
  int report_number_ = 3;
  bool terminal_in_ = false;
  bool terminal_out_ = false;
  bool terminal_err_ = false;
  bool one_output_ = false;  ///< both streams of this process are one file
  bool terminal_open_ = false;
  bool foreground_ = false;
  bool wants_keys_ = false;
  process::time_point next_end_{};  ///< of the keys of a terminal that is gone
  std::string_view input_;          ///< what the command has not read yet
  std::string reported_;
};

}  // namespace onceguard
