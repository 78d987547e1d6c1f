#include "cli/messages/letters.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/clock.hpp"
#include "base/hex.hpp"
#include "base/value_text.hpp"
#include "cli/given_flags.hpp"
#include "core/kept_key.hpp"
#include "core/request.hpp"
#include "messaging/inbox/inbox_outcome.hpp"
#include "text/json_text.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::messages {

using boost::asio::awaitable;

namespace {

constexpr std::array<std::string_view, 9> state_names{
    "unknown", "dead", "handled", "reused", "running", "waiting", "free", "keyless", "unreadable"};

letter_state state_of(const record_view& seen, const fingerprint& print) {
  if (seen.state == observed_state::released) return letter_state::free;
  if (!(seen.stored.about->print == print)) return letter_state::reused;
  switch (seen.state) {
    case observed_state::unknown:
      return letter_state::unknown;
    case observed_state::failed:
      return letter_state::waiting;
    case observed_state::completed:
      return messaging::remembered(seen.stored.answer).kind == inbox_result::dead
                 ? letter_state::dead
                 : letter_state::handled;
    default:
      return letter_state::running;
  }
}

/// 0: not known.
std::int64_t since(const known_letter& one) {
  if (one.letter.since != 0 || !one.record) return one.letter.since;
  const auto& stored = one.record->stored;
  return stored.settled_at_wall != 0 ? stored.settled_at_wall : stored.claimed_at_wall;
}

/// The reason that the letter or its record tells.
std::string reason(const known_letter& one) {
  if (!one.letter.reason.empty()) return one.letter.reason;
  if (one.state == letter_state::keyless) return one.letter.keyless;
  if (!one.record) return {};
  if (one.state == letter_state::unknown) return std::string(name_of(one.record->stored.why));
  if (one.state != letter_state::dead) return {};
  return messaging::remembered(one.record->stored.answer).reason;
}

std::string key_text(const known_letter& one) {
  return one.letter.key.empty() ? "-" : plain_text(base::shown_id(one.letter.key));
}

nlohmann::ordered_json list_json(const std::vector<messaging::attribute>& all) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& [name, value] : all) out.push_back({name, value});
  return out;
}

}  // namespace

std::string_view name_of(letter_state state) noexcept {
  return state_names[static_cast<std::size_t>(state)];
}

bool letter_choice::any() const {
  return all || !key.empty() || !states.empty() || !why.empty() || !text.empty() ||
         !older.empty() || !younger.empty();
}

bool letter_choice::fits(const known_letter& one) const {
  const auto has = [](const std::string& whole, const std::string& part) {
    return whole.find(part) != whole.npos;
  };
  // The logs name it by its kept form.
  const bool named = one.letter.key == key || core::kept_key(one.letter.key) == key;
  if (!key.empty() && !named) return false;
  if (!states.empty() && std::ranges::find(states, name_of(one.state)) == states.end()) {
    return false;
  }
  if (!has(reason(one), why) || !has(one.letter.key, text)) return false;
  if (older.empty() && younger.empty()) return true;
  const auto begin = since(one);
  if (begin == 0) return false;
  const milliseconds age(base::system_clock().wall_ms() - begin);
  return (older.empty() || age >= *base::parse_duration(older)) &&
         (younger.empty() || age < *base::parse_duration(younger));
}

void add_letter_choice(const command& command, letter_choice& choice) {
  command.add({{"KEY", &choice.key, "The id of a message", typed("")},
               {"--subscriber", &choice.subscriber,
                "Of this [[consume]], where the configuration has several", typed("NAME")}});
  std::vector<std::string> states(state_names.begin(), state_names.end());
  command.add({{"--state", &choice.states,
                "Only those whose record is in this state now; may be given several times",
                any_of(states, "STATE")},
               {"--why", &choice.why, "Only those whose reason has this part", typed("TEXT")},
               {"--text", &choice.text, "Only those whose id has this part", typed("TEXT")},
               {"--older", &choice.older, "Only those that lie there for at least so long",
                typed("DURATION", period_fault)},
               {"--younger", &choice.younger, "Only those that lie there for less long",
                typed("DURATION", period_fault)},
               {"--limit", &choice.limit, "Look at so many at most", between(1, 100'000)}});
  choice.wait = "2s";
  command.add(
      {{"--wait", &choice.wait, "How long the broker may send nothing before that is all there is",
        typed("DURATION", period_fault)}});
}

awaitable<result<known_letter>> find_record_of(record_access& records,
                                               const consume::consume_params& params,
                                               consume::dead_letter letter, milliseconds timeout) {
  known_letter out;
  out.letter = std::move(letter);
  const auto& one = out.letter;
  if (one.key.empty() || one.key.size() > key_size_max) {
    out.state = letter_state::keyless;
    co_return out;
  }
  const inbox_message view{one.key, one.content.payload};
  const auto wanted = messaging::request_of(params.subscriber, view, params.inbox);
  const auto digests = digests_of(wanted);
  auto found = co_await records.find(digests.id, timeout);
  if (!found) {
    if (found.error().code != errc::record_unreadable) co_return found.error();
    out.state = letter_state::unreadable;
    out.why = found.error().detail;
  } else if (*found) {
    out.record = std::move(**found);
    out.state = state_of(*out.record, digests.print);
  }
  co_return out;
}

std::string letter_line(const std::string& subscriber, const known_letter& one) {
  std::string state(name_of(one.state));
  state.resize(std::max<std::size_t>(state.size(), 10), ' ');
  const auto time = since(one);
  std::string out = state + "  " + (time == 0 ? "-" : time_text(time)) + "  " +
                    plain_text(subscriber) + "  " + key_text(one) + "  " +
                    std::to_string(one.letter.content.payload.size()) + " bytes";
  if (const auto why = reason(one); !why.empty()) out += "  (" + plain_text(why) + ")";
  return out;
}

std::string letter_page(const std::string& subscriber, const known_letter& one) {
  std::string out;
  const auto line = [&out](std::string name, const std::string& value) {
    name.resize(std::max<std::size_t>(name.size() + 1, 14), ' ');
    out += name + value + "\n";
  };
  const auto& content = one.letter.content;
  line("key", key_text(one));
  line("subscriber", plain_text(subscriber));
  line("state", std::string(name_of(one.state)));
  if (!one.letter.outcome.empty()) line("outcome", plain_text(one.letter.outcome));
  if (const auto why = reason(one); !why.empty()) line("reason", plain_text(why));
  if (const auto time = since(one); time != 0) line("since", time_text(time));
  if (one.record) line("record", base::to_hex(one.record->id));
  if (!content.order_key.empty()) line("order key", plain_text(content.order_key));
  for (const auto& [name, value] : content.properties) {
    line("property", plain_text(name) + ": " + plain_text(value));
  }
  for (const auto& [name, value] : content.headers) {
    line("header", plain_text(name) + ": " + plain_text(value));
  }
  line("payload", std::to_string(content.payload.size()) + " bytes" +
                      (is_utf8(content.payload) ? "" : ", no text; --payload writes it as it is"));
  if (content.payload.empty() || !is_utf8(content.payload)) return out;
  return out + "\n" + terminal_text(content.payload) +
         (content.payload.ends_with('\n') ? "" : "\n");
}

nlohmann::ordered_json letter_json(const std::string& subscriber, const known_letter& one,
                                   bool whole) {
  const auto& content = one.letter.content;
  nlohmann::ordered_json out{{"subscriber", subscriber}, {"state", name_of(one.state)}};
  if (!one.letter.key.empty()) out["key"] = one.letter.key;
  if (!one.letter.outcome.empty()) out["outcome"] = one.letter.outcome;
  if (const auto why = reason(one); !why.empty()) out["reason"] = why;
  if (const auto time = since(one); time != 0) out["since"] = time_text(time);
  if (one.record) out["record"] = base::to_hex(one.record->id);
  out["payload_size"] = content.payload.size();
  if (!whole) return out;
  if (!content.order_key.empty()) out["order_key"] = content.order_key;
  out["properties"] = list_json(content.properties);
  out["headers"] = list_json(content.headers);
  if (is_utf8(content.payload)) {
    out["payload"] = content.payload;
  } else {
    out["payload_base64"] = base::to_base64(content.payload);
  }
  return out;
}

}  // namespace onceguard::cli::messages
