#include "cli/keys/filter_flags.hpp"

namespace onceguard::cli {

std::string filter_fault(std::string_view name, const std::string& value) {
  const auto added = record_filter().add(name, value);
  return added ? std::string() : added.error().detail;
}

bool filter_flags::any() const {
  return attention || !states.empty() || !route.empty() || !method.empty() || !reason.empty() ||
         !text.empty() || !older.empty() || !younger.empty();
}

record_filter filter_flags::filter() const {
  record_filter out;
  const auto add = [&out](std::string_view name, const std::string& value) {
    if (!value.empty()) out.add(name, value).value();
  };
  for (const auto& state : states) add("state", state);
  add("key", key);
  add("scope", scope);
  add("route", route);
  add("method", method);
  add("reason", reason);
  add("text", text);
  add("older", older);
  add("younger", younger);
  if (attention) add("attention", "true");
  return out;
}

void add_filter_flags(const command& command, filter_flags& flags, const std::string& reason) {
  command
      .add_option("--state", flags.states, "Only records in this state; may be given several times")
      .one_of(record_filter::states())
      .type("STATE");
  command.add_option("--route", flags.route, "Only of this route: its host and path, as shown")
      .check([](const std::string& text) { return filter_fault("route", text); })
      .type("ROUTE");
  command.add_option("--method", flags.method, "Only of this method")
      .check([](const std::string& text) { return filter_fault("method", text); })
      .type("METHOD");
  command.add_option(reason, flags.reason, "Only those unknown for this reason")
      .one_of(record_filter::reasons())
      .type("REASON");
  command.add_option("--text", flags.text, "Only those whose key has this part")
      .check([](const std::string& text) { return filter_fault("text", text); })
      .type("TEXT");
  command.add_option("--older", flags.older, "Only those claimed at least so long ago")
      .check([](const std::string& text) { return filter_fault("older", text); })
      .type("DURATION");
  command.add_option("--younger", flags.younger, "Only those claimed less long ago")
      .check([](const std::string& text) { return filter_fault("younger", text); })
      .type("DURATION");
  command.add_flag("--attention", flags.attention,
                   "Only what needs a person: unknown, never settled, or unreadable");
}

}  // namespace onceguard::cli
