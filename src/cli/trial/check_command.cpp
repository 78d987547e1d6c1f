#include <iostream>

#include "base/log_events.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "config/all_options.hpp"
#include "config/load.hpp"
#include "config/reference.hpp"

namespace onceguard::cli::trial {
namespace {

int check(const given_flags& given) {
  auto source = sources_of(given, true);
  source.messages_alone = true;
  const auto read = config::load(source);
  std::size_t faults = 0;
  for (const auto& r : read.remarks) {
    const bool fault = r.weight == config::remark::grade::fault;
    faults += fault ? 1 : 0;
    (fault ? std::cerr : std::cout) << r.text() << "\n";
  }
  const auto name = source.file.empty() ? std::string("configuration") : source.file;
  if (faults == 0) {
    std::cout << name << ": ok\n"
              << "onceguard doctor examines what is outside: the store, the port, the "
                 "upstreams, the queues\n";
    return exit_ok;
  }
  std::cerr << name << ": " << faults << (faults == 1 ? " fault\n" : " faults\n");
  return exit_configuration;
}

/// The table of the log's events as a page of Markdown.
std::string event_reference() {
  std::string out = R"(# Events of the log

This page is printed by `onceguard check --events`; a test compares the two.

Each line of the log has a time, a level and an event. An event is an id that never changes its
meaning: scripts and alerts may rely on that. What varies stands in the fields. On a terminal the
lines are text, otherwise JSON objects with the members `time`, `level`, `event` and the fields;
numbers are JSON numbers. Of an event that may come with each request of an outage (marked *r*),
lines beyond 20 a second are left out, and `lines-left-out` says how many.
)";
  std::string_view section;
  for (const auto& event : base::events()) {
    if (event.section != section) {
      section = event.section;
      out.append("\n## ").append(section);
      out +=
          "\n\n| event | level | fields | meaning, and what to do |\n| --- | --- | --- | --- |\n";
    }
    out.append("| `").append(event.name).append("`").append(event.recurring ? " *r*" : "");
    out.append(" | ").append(base::name_of(event.level)).append(" | ");
    out.append(event.fields).append(" | ").append(event.meaning).append(" |\n");
  }
  return out;
}

}  // namespace

void add_check_command(const command& added) {
  const auto given = add_all_flags(added);
  const auto reference = std::make_shared<bool>(false);
  const auto events = std::make_shared<bool>(false);
  added.add({{"--reference", reference.get(), "Print the reference of all options instead"},
             {"--events", events.get(), "Print the events of the log instead"}});
  added.runs([=] {
    if (!*reference && !*events) return check(*given);
    std::cout << (*reference ? config::reference() : event_reference());
    return int{exit_ok};
  });
}

}  // namespace onceguard::cli::trial
