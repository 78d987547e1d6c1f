// `messages retry` and `messages drop`.
#include <csignal>
#include <iostream>

#include "base/value_text.hpp"
#include "cli/command.hpp"
#include "cli/keys/resolve_record.hpp"
#include "cli/messages/letter_acts.hpp"
#include "cli/messages/message_work.hpp"
#include "cli/messages/stop_signals.hpp"
#include "consume/consume.hpp"
#include "core/request.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::messages {
namespace {

using boost::asio::awaitable;

struct change_request {
  letter_choice choice;
  std::string reason;
  bool yes = false;
  bool dry = false;

  /// With a filter in place of KEY, only `yes` changes anything.
  [[nodiscard]] bool changes() const { return !dry && (yes || !choice.key.empty()); }
};

/// Says on both streams what became of it. True: it did what was asked for.
bool say(const known_letter& one, const letter_end& end) {
  for (const auto& fault : end.faults) std::cerr << "onceguard: " << fault << "\n";
  if (!end.text.empty()) {
    std::cout << (one.letter.key.empty() ? "-" : plain_text(base::shown_id(one.letter.key))) << ": "
              << end.text << "\n";
  }
  return end.done;
}

/// Says on standard error why a key was not freed.
free_key free_by_command(chosen_letters& chosen) {
  return [&chosen](const record_view& before, resolution change) -> awaitable<freed_key> {
    keys::found_record seen;
    seen.record = before;
    const auto timeout = chosen.settings.store.timeout;
    const auto end = co_await keys::resolve_one(chosen.records.records(), seen, std::move(change),
                                                *chosen.changes, timeout);
    freed_key out;  // this process has served nothing, and remembers no answer
    if (end.exit_code != exit_ok) out.why = "it stays";
    co_return out;
  };
}

/// How many were begun, and how many came to what was asked for.
struct act_count {
  std::size_t begun = 0;
  std::size_t done = 0;

  void add(const known_letter& one, const letter_end& end) {
    ++begun;
    if (say(one, end)) ++done;
  }
};

bool goes_on() { return stop_signals::signal() == nullptr; }

awaitable<act_count> retry_by_command(chosen_letters& chosen, consume::message_handler& handler) {
  letter_desk desk{chosen.params, chosen.box, chosen.changes->log(), chosen.changes->author(),
                   free_by_command(chosen)};
  act_count out;
  retry_terms terms{handler, desk, goes_on,
                    [&out](const known_letter& one, const letter_end& end) { out.add(one, end); }};
  std::vector<const known_letter*> all;
  for (const auto& one : chosen.letters) all.push_back(&one);
  co_await retry_letters(std::move(terms), std::move(all));
  co_return out;
}

act_count drop_by_command(chosen_letters& chosen) {
  letter_desk desk{chosen.params, chosen.box, chosen.changes->log(), chosen.changes->author()};
  act_count out;
  for (const auto& one : chosen.letters) {
    if (!goes_on()) break;
    out.add(one, drop_letter(desk, one));
    chosen.box.hold();
  }
  return out;
}

int show_chosen(const chosen_letters& chosen) {
  for (const auto& one : chosen.letters) {
    std::cout << letter_line(chosen.params.subscriber, one) << "\n";
  }
  std::cout << chosen.letters.size() << " messages; nothing was changed: --yes changes them\n";
  return exit_ok;
}

/// Returns the exit code.
int say_count(const chosen_letters& chosen, const act_count& now) {
  const auto count = chosen.letters.size();
  if (count > 1) std::cout << now.done << " of " << count << " messages\n";
  if (now.begun < count) {
    std::cerr << "onceguard: " << stop_signals::signal() << " after " << now.begun << " of "
              << count << " messages; the others are as they were\n";
  }
  return now.done == count ? exit_ok : exit_failed;
}

int run_change(const given_flags& given, const change_request& request, const std::string& means,
               const letters_work& work) {
  if (!request.choice.any()) {
    return end_with(exit_usage, "KEY is missing, or a filter such as --state, or --all");
  }
  const stop_signals stop;
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
    if (chosen.changes == nullptr) co_return show_chosen(chosen);
    const auto count = co_await retry_by_command(chosen, *handler);
    co_return say_count(chosen, count);
  };
  return run_change(given, request, "messages retry", work);
}

int run_drop(const given_flags& given, const change_request& request) {
  const auto work = [](chosen_letters& chosen) -> awaitable<int> {
    if (chosen.changes == nullptr) co_return show_chosen(chosen);
    co_return say_count(chosen, drop_by_command(chosen));
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

}  // namespace onceguard::cli::messages
