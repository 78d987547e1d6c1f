// Prepares the three standard descriptors of the process, so that any problem with them is a write
// error and never ends the program.
#pragma once

namespace onceguard::cli {

/// Call once, before anything else.
void prepare_standard_streams();

/// The exit code of a command that ends with `exit_code`, or a failure if standard output could not
/// be written. Reports the failure, unless the reader closed the pipe.
[[nodiscard]] int end_of_output(int exit_code);

}  // namespace onceguard::cli
