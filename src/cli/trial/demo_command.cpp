#include <cstdlib>
#include <iostream>
#include <unistd.h>

#include "cli/command.hpp"
#include "demo/report.hpp"

namespace onceguard::cli::trial {
namespace {

struct demo_flags {
  bool keep = false;
  bool json = false;
};

bool coloured() { return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr; }

int run_demo(const demo_flags& flags) {
  const auto reply =
      flags.json ? demo::make_json_report(std::cout) : demo::make_story(std::cout, coloured());
  try {
    return demo::play(*reply, flags.keep);
  } catch (const std::exception& fault) {
    std::cerr << "onceguard demo: " << fault.what() << "\n";
    return 1;
  }
}

}  // namespace

void add_demo_command(const command& added) {
  const auto flags = std::make_shared<demo_flags>();
  added.add({{"--keep", &flags->keep,
              "Leave shop, customers and gateway running until Ctrl-C, with the page"},
             {"--json", &flags->json, "Tell what happened as JSON"}});
  added.runs([flags] { return run_demo(*flags); });
}

}  // namespace onceguard::cli::trial
