// `messages retry` and `messages drop`.
#include <chrono>
#include <csignal>
#include <future>
#include <iostream>

#include "base/value_text.hpp"
#include "cli/command.hpp"
#include "cli/keys/resolve_record.hpp"
#include "cli/messages/message_work.hpp"
#include "cli/messages/orderly_stop.hpp"
#include "consume/consume.hpp"
#include "core/request.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {
namespace {

using boost::asio::awaitable;

/// So often the broker hears from here while a message is handled.
constexpr std::chrono::milliseconds hold_interval{200};

struct change_request {
  letter_choice choice;
  std::string reason;
  bool yes = false;
  bool dry = false;

  /// With a filter in place of KEY, only `yes` changes anything.
  [[nodiscard]] bool changes() const { return !dry && (yes || !choice.key.empty()); }
};

/// What a command does with one letter. True: it did what was asked for.
using letter_act = std::function<awaitable<bool>(chosen_letters&, const known_letter&)>;

void say(const known_letter& one, const std::string& text) {
  std::cout << (one.letter.key.empty() ? "-" : plain_text(base::shown_id(one.letter.key))) << ": "
            << text << "\n";
}

/// False, with a message: the audit log can't be written, so nothing may be done.
bool intend(chosen_letters& chosen, const audited_change& change) {
  const auto line = chosen.changes->log().intend(chosen.changes->author(), change);
  if (!line) std::cerr << "onceguard: " << line.error().detail << "; nothing was changed\n";
  return line.has_value();
}

/// False, with a message: what was done is not in the audit log.
bool conclude(chosen_letters& chosen, const audited_change& change, const std::string& outcome) {
  const auto line = chosen.changes->log().conclude(chosen.changes->author(), change, outcome);
  if (!line) std::cerr << "onceguard: " << line.error().detail << "; it was: " << outcome << "\n";
  return line.has_value();
}

audited_change change_of(std::string_view action, const chosen_letters& chosen,
                         const known_letter& one, std::string wanted) {
  audited_change out;
  out.action = action;
  if (one.record) out.record = one.record->id;
  out.key = one.letter.key;
  out.former = name_of(one.state);
  out.wanted = std::move(wanted);
  out.about = "a message of " + chosen.params.subscriber;
  return out;
}

/// The letter leaves the queue; its record stays.
bool remove(chosen_letters& chosen, const known_letter& one) {
  const auto gone = chosen.box.remove(one.letter.tag);
  if (gone) return true;
  std::cerr << "onceguard: " << gone.error().detail << "; the message may still lie there\n";
  return false;
}

// --- retry

/// Why the message can't be sent again as it is; empty: it can.
std::string obstacle(const known_letter& one) {
  switch (one.state) {
    case letter_state::reused:
      return "its id belongs to a message with another payload, so it can't run under it; let the "
             "sender send it with an id of its own, and drop this one";
    case letter_state::keyless:
      return "it can't run once without an id (" + one.letter.keyless +
             "); let the sender send it with one, and drop this one";
    case letter_state::running:
      return "an attempt may be running; try again later";
    case letter_state::unreadable:
      return "its record can't be read; `keys release --force` takes its place";
    default:
      return {};
  }
}

/// Frees the key of a message that is known not to have taken effect: the operator says so by
/// sending it again. What happens between this and the attempt leaves a message that runs at the
/// next retry, since the letter still lies there.
awaitable<bool> free_key(chosen_letters& chosen, const known_letter& one) {
  if (one.state != letter_state::unknown && one.state != letter_state::dead) co_return true;
  found_record before;
  before.record = one.record;
  resolution change;
  change.id = one.record->id;
  change.token = one.record->stored.token;
  change.keep_completed = one.state == letter_state::unknown;
  const auto timeout = chosen.settings.store.timeout;
  const auto end = co_await resolve_one(chosen.records.records(), before, std::move(change),
                                        *chosen.changes, timeout);
  co_return end.exit_code == exit_ok;
}

std::string outcome_line(const inbox_outcome& outcome) {
  switch (outcome.kind) {
    case inbox_result::handled:
      return "handled";
    case inbox_result::duplicate:
      return "it was handled before; nothing ran";
    case inbox_result::busy:
      return "it waits for its next attempt, in " + base::duration_text(outcome.retry_after) +
             ", or another one works on it; it stays";
    default:
      return std::string(name_of(outcome.kind)) + ": " + outcome.reason + "; it stays";
  }
}

awaitable<bool> retry_letter(consume::message_handler& handler, chosen_letters& chosen,
                             const known_letter& one) {
  if (const auto why = obstacle(one); !why.empty()) {
    say(one, why);
    co_return false;
  }
  const bool freed = co_await free_key(chosen, one);
  if (!freed) co_return false;
  const auto change = change_of("retry", chosen, one, "handled");
  if (!intend(chosen, change)) co_return false;
  // Its record decides once more: the message runs only if nobody else has its key by now.
  auto attempt = std::async(std::launch::async,
                            [&] { return handler.handle(one.letter.content, one.letter.key); });
  while (attempt.wait_for(hold_interval) != std::future_status::ready) chosen.box.hold();
  const auto outcome = attempt.get();
  const auto text = outcome ? outcome_line(*outcome) : outcome.error().detail + "; it stays";
  const bool written = conclude(chosen, change, text);
  say(one, text);
  const bool done = outcome && (outcome->kind == inbox_result::handled ||
                                outcome->kind == inbox_result::duplicate);
  const bool over = done && remove(chosen, one) && written;
  co_return over;
}

// --- drop

awaitable<bool> drop_letter(chosen_letters& chosen, const known_letter& one) {
  const auto change = change_of("drop", chosen, one, "dropped");
  if (!intend(chosen, change)) co_return false;
  const bool gone = remove(chosen, one);
  const bool written = conclude(chosen, change, gone ? "done" : "not known");
  if (gone) say(one, "dropped");
  const bool over = gone && written;
  co_return over;
}

// --- both

awaitable<int> change_letters(chosen_letters& chosen, const letter_act& act) {
  std::size_t done = 0;
  std::size_t begun = 0;
  for (const auto& one : chosen.letters) {
    if (chosen.changes != nullptr && orderly_stop::signal() != nullptr) break;
    ++begun;
    if (chosen.changes == nullptr) {
      std::cout << letter_line(chosen.params.subscriber, one) << "\n";
      continue;
    }
    const bool good = co_await act(chosen, one);
    if (good) ++done;
    chosen.box.hold();
  }
  const auto count = chosen.letters.size();
  if (chosen.changes == nullptr) {
    std::cout << count << " messages; nothing was changed: --yes changes them\n";
    co_return exit_ok;
  }
  if (count > 1) std::cout << done << " of " << count << " messages\n";
  if (begun < count) {
    std::cerr << "onceguard: " << orderly_stop::signal() << " after " << begun << " of " << count
              << " messages; the others are as they were\n";
  }
  co_return done == count ? exit_ok : exit_failed;
}

int run_change(const given_flags& given, const change_request& request, const std::string& means,
               const letters_work& work) {
  if (!request.choice.any()) {
    return end_with(exit_usage, "KEY is missing, or a filter such as --state, or --all");
  }
  const orderly_stop stop;
  const message_terms terms{given, request.choice, means, request.reason, request.changes()};
  const int code = with_letters(terms, work);
  if (code == exit_not_found) std::cerr << "onceguard: no such message is among the dead letters\n";
  return code;
}

int run_retry(const given_flags& given, const change_request& request) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not end an attempt
  const auto work = [](chosen_letters& chosen) -> awaitable<int> {
    auto handler = consume::message_handler::make(chosen.params, chosen.records);
    if (!handler) co_return complain(handler.error());
    const letter_act act = [&handler](chosen_letters& all, const known_letter& one) {
      return retry_letter(*handler, all, one);
    };
    co_return co_await change_letters(chosen, act);
  };
  return run_change(given, request, "messages retry", work);
}

int run_drop(const given_flags& given, const change_request& request) {
  const auto work = [](chosen_letters& chosen) -> awaitable<int> {
    const letter_act act = drop_letter;
    co_return co_await change_letters(chosen, act);
  };
  return run_change(given, request, "messages drop", work);
}

void add_change_flags(const command& added, change_request& request) {
  add_letter_choice(added, request.choice);
  added.add({{"--all", &request.choice.all, "All messages of the subscriber"},
             reason_argument(request.reason),
             {"--yes", &request.yes, "Change all that the filter chooses; without it, only show"},
             {"--dry-run", &request.dry, "Only show, also with KEY", not_with("--yes")}});
}

}  // namespace

void add_messages_retry_command(const command& added) {
  const auto request = std::make_shared<change_request>();
  add_change_flags(added, *request);
  const auto given = add_store_flags(added, {"audit-log"});
  added.runs([=] { return run_retry(*given, *request); });
}

void add_messages_drop_command(const command& added) {
  const auto request = std::make_shared<change_request>();
  add_change_flags(added, *request);
  const auto given = add_store_flags(added, {"audit-log"});
  added.runs([=] { return run_drop(*given, *request); });
}

}  // namespace onceguard::cli
