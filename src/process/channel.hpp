// What a command reads and writes in place of a file: pipes, and terminals of its own.
#pragma once
#include <cstddef>
#include <string_view>

#include <onceguard/error.hpp>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace onceguard::process {

using time_point = base::boot_clock::time_point;

/// Milliseconds until then, as poll takes them: not below zero.
[[nodiscard]] int poll_time(time_point until) noexcept;

/// A channel between this process and a command. Neither end passes to other programs by itself.
struct channel {
  base::descriptor here;
  base::descriptor there;
};

/// What errno says of a channel that could not be made: `action` is what can't be done.
[[nodiscard]] error channel_refusal(const char* action);
/// A pipe from the command.
[[nodiscard]] result<channel> make_output_pipe();
/// A pipe to the command. The end here does not block.
[[nodiscard]] result<channel> make_input_pipe();
/// As write(2), but a pipe without a reader raises no SIGPIPE, whatever this process does with it.
[[nodiscard]] std::ptrdiff_t write_quietly(int pipe, std::string_view bytes) noexcept;
/// Writes all bytes to a pipe to the command, which may end without reading all of them. False: the
/// time is over, and `bytes` are those that are left.
[[nodiscard]] bool feed(base::descriptor& input, std::string_view& bytes, time_point until);

}  // namespace onceguard::process
