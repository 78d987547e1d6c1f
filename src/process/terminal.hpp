// Terminals for commands. The one in the place of the terminal that controls this process: what the
// command shows can be kept, and all else is as on the real one.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <termios.h>

#include <onceguard/error.hpp>

#include "base/descriptor.hpp"
#include "process/channel.hpp"

namespace onceguard::process {

/// A terminal of the size of another one.
[[nodiscard]] result<channel> make_terminal(int model);
/// The same for output alone: it passes bytes on as they are.
[[nodiscard]] result<channel> make_output_terminal(int model);
/// Gives the terminal behind `here` the size of `terminal`.
void copy_terminal_size(int terminal, int here) noexcept;

/// Thread-safety: resize() and give_back() may be called from any thread while the object lives, if
/// the calls don't run at once; all else by one.
class terminal {
 public:
  /// Nullopt: no terminal controls this process.
  [[nodiscard]] static result<std::optional<terminal>> open();
  terminal(terminal&&) noexcept = default;
  terminal& operator=(terminal&&) = delete;
  /// Gives the real terminal back.
  ~terminal() { give_back(); }

  /// The end that the command writes to is read here, and its keys are written here. Doesn't block.
  [[nodiscard]] int here() const noexcept { return here_.get(); }
  /// The command's end.
  [[nodiscard]] int there() const noexcept { return there_.get(); }
  void close_there() noexcept { there_.close(); }
  /// The real terminal. Doesn't block.
  [[nodiscard]] int callers() const noexcept { return callers_.get(); }
  /// Of the real terminal, when this process got it.
  [[nodiscard]] const termios& callers_settings() const noexcept { return settings_; }

  /// The descriptor is the terminal that controls this process.
  [[nodiscard]] static bool is(int descriptor) noexcept;
  /// This process is in the foreground of its terminal: it gets the keys.
  [[nodiscard]] bool in_foreground() const noexcept;
  /// Takes all keys of the real terminal as they are, for the command. False: this process is in
  /// the background.
  bool take() noexcept;
  void give_back() noexcept;
  [[nodiscard]] bool taken() const noexcept { return taken_; }
  /// Gives the command's terminal the size of the real one.
  void resize() const noexcept;

  /// Keys that the command has not taken yet.
  [[nodiscard]] bool has_keys() const noexcept { return !keys_.empty(); }
  /// Reads keys from the real terminal.
  void read_keys();
  /// The real terminal was hung up: there are no more keys.
  [[nodiscard]] bool gone() const noexcept { return gone_; }
  /// Tells a command that reads lines that there are no more.
  void end_keys();
  /// Hands as many keys to the command as it takes.
  void pass_keys() noexcept;
  /// Turns what was read from the command's terminal into what the command wrote: a line ends as it
  /// does in a file. The real terminal then shows it as the command's own would.
  void as_written(std::string& shown) noexcept;

 private:
  /// The settings at the start may be those of a shell that was reading a line meanwhile.
  void copy_settings() noexcept;
  /// The real terminal would send its signals to this process's group as well.
  void tell_group(std::string_view keys) const noexcept;
  terminal(base::descriptor callers, base::descriptor here, base::descriptor there,
           const termios& settings) noexcept
      : callers_(std::move(callers)),
        here_(std::move(here)),
        there_(std::move(there)),
        settings_(settings) {}

  base::descriptor callers_;
  base::descriptor here_;
  base::descriptor there_;
  termios settings_;
  termios given_{};  ///< what the command's terminal began with
  bool taken_ = false;
  bool copied_ = false;  ///< the settings of the real terminal in the foreground
  bool gone_ = false;
  bool return_before_ = false;  ///< the last piece that was read ended with a carriage return
  tcflag_t output_flags_ = 0;   ///< of the real terminal
  std::string keys_;
};

}  // namespace onceguard::process
