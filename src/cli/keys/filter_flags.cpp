#include "cli/keys/filter_flags.hpp"

namespace onceguard::cli::keys {

std::function<std::string(const std::string&)> filter_check(std::string_view name) {
  return [name](const std::string& value) {
    const auto added = record_filter().add(name, value);
    return added ? std::string() : added.error().detail;
  };
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
  command.add(
      {{"--state", &flags.states, "Only records in this state; may be given several times",
        any_of(record_filter::states(), "STATE")},
       {"--route", &flags.route, "Only of this route: its host and path, as shown",
        typed("ROUTE", filter_check("route"))},
       {"--method", &flags.method, "Only of this method", typed("METHOD", filter_check("method"))},
       {reason, &flags.reason, "Only those unknown for this reason",
        any_of(record_filter::reasons(), "REASON")},
       {"--text", &flags.text, "Only those whose key has this part",
        typed("TEXT", filter_check("text"))},
       {"--older", &flags.older, "Only those claimed at least so long ago",
        typed("DURATION", filter_check("older"))},
       {"--younger", &flags.younger, "Only those claimed less long ago",
        typed("DURATION", filter_check("younger"))},
       {"--attention", &flags.attention,
        "Only what needs a person: unknown, never settled, or unreadable"}});
}

}  // namespace onceguard::cli::keys
