// `messages retry` and `messages drop`.
#include <csignal>
#include <iostream>

#include "base/value_text.hpp"
#include "cli/command.hpp"
#include "cli/keys/resolve_record.hpp"
#include "cli/messages/letter_acts.hpp"
#include "cli/messages/message_work.hpp"
#include "cli/messages/orderly_stop.hpp"
#include "consume/consume.hpp"
#include "core/request.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {
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

/// What a command does with one letter.
using letter_act = std::function<awaitable<letter_end>(chosen_letters&, const known_letter&)>;

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
free_key free_by_command(chosen_letters& chosen, bool& freed) {
  return [&chosen, &freed](const record_view& before, resolution change) -> awaitable<std::string> {
    found_record seen;
    seen.record = before;
    const auto timeout = chosen.settings.store.timeout;
    const auto end = co_await resolve_one(chosen.records.records(), seen, std::move(change),
                                          *chosen.changes, timeout);
    freed = end.exit_code == exit_ok;
    co_return freed ? "" : "it stays";
  };
}

awaitable<letter_end> retry_by_command(consume::message_handler& handler, chosen_letters& chosen,
                                       const known_letter& one) {
  bool freed = true;
  letter_desk desk{chosen.params, chosen.box, chosen.changes->log(), chosen.changes->author(),
                   free_by_command(chosen, freed)};
  auto end = co_await retry_letter(handler, desk, one);
  if (!freed) end.text.clear();  // it was said
  co_return end;
}

awaitable<letter_end> drop_by_command(chosen_letters& chosen, const known_letter& one) {
  letter_desk desk{chosen.params, chosen.box, chosen.changes->log(), chosen.changes->author()};
  co_return drop_letter(desk, one);
}

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
    const auto end = co_await act(chosen, one);
    if (say(one, end)) ++done;
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
      return retry_by_command(*handler, all, one);
    };
    co_return co_await change_letters(chosen, act);
  };
  return run_change(given, request, "messages retry", work);
}

int run_drop(const given_flags& given, const change_request& request) {
  const auto work = [](chosen_letters& chosen) -> awaitable<int> {
    const letter_act act = drop_by_command;
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
