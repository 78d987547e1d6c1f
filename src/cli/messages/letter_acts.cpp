#include "cli/messages/letter_acts.hpp"

#include <chrono>
#include <future>
#include <utility>

#include "base/clock.hpp"
#include "base/value_text.hpp"
#include "core/kept_key.hpp"
#include "engine/background.hpp"
#include "store/resolve.hpp"
#include "store/sealed/sealed_answer.hpp"
#include "store/staleness.hpp"

namespace onceguard::cli::messages {
namespace {

using boost::asio::awaitable;

/// So often the broker hears from here while a message is handled.
constexpr std::chrono::milliseconds hold_interval{200};

audited_change change_of(std::string_view action, const letter_desk& desk, const known_letter& one,
                         std::string wanted) {
  audited_change out;
  out.action = action;
  if (one.record) out.record = one.record->id;
  if (!one.letter.key.empty()) out.key = core::kept_key(one.letter.key);
  out.former = name_of(one.state);
  out.wanted = std::move(wanted);
  out.about = "a message of " + desk.params.subscriber;
  return out;
}

/// False: the audit log can't be written, so nothing may be done.
bool intend(letter_desk& desk, const audited_change& change, letter_end& out) {
  const auto line = desk.log.intend(desk.author, change);
  if (!line) out.faults.push_back(line.error().detail + "; nothing was changed");
  return line.has_value();
}

/// False: what was done is not in the audit log.
bool conclude(letter_desk& desk, const audited_change& change, const std::string& outcome,
              letter_end& out) {
  const auto line = desk.log.conclude(desk.author, change, outcome);
  if (!line) out.faults.push_back(line.error().detail + "; it was: " + outcome);
  return line.has_value();
}

bool remove(letter_desk& desk, const known_letter& one, letter_end& out) {
  const auto gone = desk.box.remove(one.letter.tag);
  if (!gone) out.faults.push_back(gone.error().detail + "; the message may still lie there");
  return gone.has_value();
}

/// Frees the key of a message that is known not to have taken effect: the operator says so by
/// sending it again. What happens between this and the attempt leaves a message that runs at the
/// next retry, since the letter still lies there.
awaitable<freed_key> free_key_of(letter_desk& desk, const known_letter& one) {
  if (one.state != letter_state::unknown && one.state != letter_state::dead) co_return freed_key();
  auto change = resolution_of_seen(*one.record);
  change.keep_completed = one.state == letter_state::unknown;
  co_return co_await desk.free(*one.record, std::move(change));
}

/// This process, too, may still give a forgotten answer from memory.
awaitable<void> outlast_memories(letter_desk& desk) {
  const auto until = base::boot_now() + stale_after;
  while (base::boot_now() < until) {
    desk.box.hold();
    co_await sleep_for(hold_interval);
  }
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

}  // namespace

std::string obstacle_to_retry(const known_letter& one) {
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
      if (sealed::lacks_key(one.why)) return one.why;
      return "its record can't be read; `keys release --force` takes its place";
    default:
      return {};
  }
}

namespace {

/// Its key is free.
letter_end handle_again(consume::message_handler& handler, letter_desk& desk,
                        const known_letter& one) {
  letter_end out;
  const auto change = change_of("retry", desk, one, "handled");
  if (!intend(desk, change, out)) return out;
  // Its record decides once more: the message runs only if nobody else has its key by now.
  auto attempt = std::async(std::launch::async,
                            [&] { return handler.handle(one.letter.content, one.letter.key); });
  while (attempt.wait_for(hold_interval) != std::future_status::ready) desk.box.hold();
  const auto outcome = attempt.get();
  out.text = outcome ? outcome_line(*outcome) : outcome.error().detail + "; it stays";
  const bool written = conclude(desk, change, out.text, out);
  const bool over = outcome && (outcome->kind == inbox_result::handled ||
                                outcome->kind == inbox_result::duplicate);
  out.done = over && remove(desk, one, out) && written;
  return out;
}

}  // namespace

awaitable<void> retry_letters(retry_terms terms, std::vector<const known_letter*> letters) {
  std::vector<const known_letter*> waiting;  // until their answers are forgotten
  for (const auto* one : letters) {
    if (!terms.goes_on()) break;
    letter_end end;
    freed_key freed;
    end.text = obstacle_to_retry(*one);
    if (end.text.empty()) {
      freed = co_await free_key_of(terms.desk, *one);
      end.text = freed.why;
    }
    if (end.text.empty() && freed.forgets_answer) {
      waiting.push_back(one);
    } else {
      if (end.text.empty()) end = handle_again(terms.handler, terms.desk, *one);
      terms.say(*one, end);
    }
    terms.desk.box.hold();
  }
  if (!waiting.empty()) co_await outlast_memories(terms.desk);
  for (const auto* one : waiting) {
    letter_end end;
    if (terms.goes_on()) {
      end = handle_again(terms.handler, terms.desk, *one);
    } else {
      end.text = "it was not sent, and its key is free; it stays";
    }
    terms.say(*one, end);
    terms.desk.box.hold();
  }
}

letter_end drop_letter(letter_desk& desk, const known_letter& one) {
  letter_end out;
  const auto change = change_of("drop", desk, one, "dropped");
  if (!intend(desk, change, out)) return out;
  const bool gone = remove(desk, one, out);
  const bool written = conclude(desk, change, gone ? "done" : "not known", out);
  if (gone) out.text = "dropped";
  out.done = gone && written;
  return out;
}

}  // namespace onceguard::cli::messages
