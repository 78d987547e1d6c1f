// Adds the commands of commands.inc to the program.
#include <algorithm>
#include <array>
#include <string_view>

#include "cli/command.hpp"

namespace onceguard::cli {
namespace {

struct entry {
  std::string_view family;  ///< empty: of the program itself
  const char* name;
  const char* about;
  const char* help;
  void (*describe)(const command&);  ///< null: a family
};

constexpr std::array entries{
#define COMMAND(folder, name, about, help) \
  entry{"", #name, about, help, folder::add_##name##_command},
#define FAMILY(name, about, help) entry{"", #name, about, help, nullptr},
#define SUBCOMMAND(folder, family, name, about, help) \
  entry{#family, #name, about, help, folder::add_##family##_##name##_command},
#include "cli/commands.inc"
#undef SUBCOMMAND
#undef FAMILY
#undef COMMAND
};

/// Adds the commands of a family, or only the one with that name if there is one.
void add_family(const command& above, std::string_view family, std::string_view wanted) {
  const auto is_wanted = [&](const entry& each) {
    return each.family == family && each.name == wanted;
  };
  const bool one = std::ranges::any_of(entries, is_wanted);
  for (const auto& each : entries) {
    if (one ? !is_wanted(each) : each.family != family) continue;
    const auto added = above.add_command(each.name, each.about, each.help);
    if (each.describe != nullptr) {
      each.describe(added);
    } else {
      added.needs_command();
      add_family(added, each.name, {});
    }
  }
}

}  // namespace

void add_commands(const command& program, std::string_view first_word) {
  add_family(program, {}, first_word);
}

}  // namespace onceguard::cli
