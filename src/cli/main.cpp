// The onceguard program.
#include "cli/program.hpp"

int main(int argc, char** argv) { return onceguard::cli::run_program(argc, argv); }
