// The onceguard program: its arguments and what it ends with.
#pragma once

namespace onceguard::cli {

/// Does what the arguments say, and returns the exit code.
int run_program(int argc, char** argv);

}  // namespace onceguard::cli
