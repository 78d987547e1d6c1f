// The three descriptors that a process is started with: whatever they are, what goes wrong with
// them is an error of a write, and never ends the program.
#pragma once

namespace onceguard::cli {

/// Once, first of all.
void prepare_standard_streams();

/// The exit code of a command that ends with `exit_code`: what could not be written to standard
/// output is a failure. It is said, unless its reader has gone by itself.
[[nodiscard]] int end_of_output(int exit_code);

}  // namespace onceguard::cli
