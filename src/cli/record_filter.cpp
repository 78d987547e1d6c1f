#include "cli/record_filter.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "config/texts.hpp"

namespace onceguard::cli {
namespace {

constexpr auto unreadable = "unreadable";

/// The names of observed_state in its order, and "unreadable".
std::vector<std::string> state_names() {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= observed_states; ++i) {
    names.emplace_back(name_of(static_cast<observed_state>(i)));
  }
  names.emplace_back(unreadable);
  return names;
}

/// The names of unknown_reason in its order, from the first reason on.
std::vector<std::string> reason_names() {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < unknown_reasons; ++i) {
    names.emplace_back(name_of(static_cast<unknown_reason>(i)));
  }
  return names;
}

std::size_t position_of(const std::string& name, const std::vector<std::string>& names) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::string duration_fault(const std::string& text) {
  const auto read = config::parse_duration(text);
  return read ? std::string() : read.error().detail;
}

template <class Value>
std::optional<Value> if_given(const Value& value) {
  return value.empty() ? std::nullopt : std::optional<Value>(value);
}

std::optional<milliseconds> duration_if_given(const std::string& text) {
  return text.empty() ? std::nullopt
                      : std::optional<milliseconds>(config::parse_duration(text).value());
}

}  // namespace

bool filter_flags::any() const {
  return attention || !states.empty() || !route.empty() || !method.empty() || !reason.empty() ||
         !text.empty() || !older.empty() || !younger.empty();
}

void add_filter_flags(const command& command, filter_flags& flags, const std::string& reason) {
  command
      .add_option("--state", flags.states, "Only records in this state; may be given several times")
      .one_of(state_names())
      .one_at_a_time()
      .type("STATE");
  command.add_option("--route", flags.route, "Only of this route: its host and path, as shown")
      .type("ROUTE");
  command.add_option("--method", flags.method, "Only of this method").type("METHOD");
  command.add_option(reason, flags.reason, "Only those unknown for this reason")
      .one_of(reason_names())
      .type("REASON");
  command.add_option("--text", flags.text, "Only those whose key has this part").type("TEXT");
  command.add_option("--older", flags.older, "Only those claimed at least so long ago")
      .check(duration_fault)
      .type("DURATION");
  command.add_option("--younger", flags.younger, "Only those claimed less long ago")
      .check(duration_fault)
      .type("DURATION");
  command.add_flag("--attention", flags.attention,
                   "Only what needs a person: unknown, never settled, or unreadable");
}

record_filter::record_filter(const filter_flags& flags) : scope_(flags.scope) {
  const auto states = state_names();
  for (const auto& name : flags.states) {
    const auto position = position_of(name, states);
    if (position >= observed_states) continue;
    of_store_.states.push_back(static_cast<observed_state>(position + 1));
  }
  readable_ = flags.states.empty() || !of_store_.states.empty();
  of_store_.key = if_given(flags.key);
  if (digest whole{}; base::from_hex(flags.scope, whole)) of_store_.scope = whole;
  of_store_.route = if_given(flags.route);
  of_store_.method = if_given(flags.method);
  of_store_.text = flags.text;
  of_store_.older = duration_if_given(flags.older);
  of_store_.younger = duration_if_given(flags.younger);
  if (!flags.reason.empty()) {
    of_store_.reason = static_cast<unknown_reason>(position_of(flags.reason, reason_names()) + 1);
  }
  of_store_.needs_person = flags.attention;
}

bool record_filter::fits(const record_view& seen) const {
  return readable_ && base::to_hex(seen.stored.about->scope).starts_with(scope_);
}

}  // namespace onceguard::cli
