#include <iostream>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/given_flags.hpp"
#include "config/load.hpp"
#include "config/reference.hpp"

namespace onceguard::cli {
namespace {

int check(const given_flags& given) {
  const auto source = sources_of(given, true);
  const auto read = config::load(source);
  std::size_t faults = 0;
  for (const auto& r : read.remarks) {
    const bool fault = r.weight == config::remark::grade::fault;
    faults += fault ? 1 : 0;
    (fault ? std::cerr : std::cout) << r.text() << "\n";
  }
  const auto name = source.file.empty() ? std::string("configuration") : source.file;
  if (faults == 0) {
    std::cout << name << ": ok\n";
    return exit_ok;
  }
  std::cerr << name << ": " << faults << (faults == 1 ? " fault\n" : " faults\n");
  return exit_configuration;
}

}  // namespace

void add_check_command(command app) {
  const auto added = app.add_command(
      "check", "Check a configuration and say everything that is wrong or worth knowing");
  const auto given = add_all_flags(added);
  const auto reference = std::make_shared<bool>(false);
  added.add_flag("--reference", *reference, "Print the reference of all options instead");
  added.footer("Example:\n  onceguard check --config onceguard.toml");
  added.runs([=] {
    if (!*reference) return check(*given);
    std::cout << config::reference();
    return int{exit_ok};
  });
}

}  // namespace onceguard::cli
