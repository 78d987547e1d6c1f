// What an operation does while its twin runs.
#include <algorithm>

#include "base/clock.hpp"
#include "engine/engine.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds caller_look{1};

/// May somebody else who sent the same take it over?
bool concerns_all(execution_kind kind) noexcept {
  return kind == execution_kind::stored || kind == execution_kind::unknown ||
         kind == execution_kind::backoff;
}

/// Who waits takes none of the room of those who run.
void give_back_room(const operation& op) noexcept {
  if (op.answer_room != nullptr) op.answer_room->clear();
}

}  // namespace

asio::awaitable<execution> engine::wait_for_twin(asio::io_context& io, operation& op, work& doing) {
  using woken = waiting_room::place::woken;
  give_back_room(op);
  const auto place = waiting_.enter(op.id, io.get_executor());
  if (!place) co_return execution();
  const auto until = base::boot_now() + op.policy->wait;
  auto look_after_caller = base::boot_now() + caller_look;
  // The twin may have ended before this one had its place: the first asks once more at once, and
  // who stands behind it hears what it heard.
  auto next = woken::to_look;
  if (!place->first()) {
    next = co_await place->wait(std::min(until, look_after_caller), params_.look_again);
  }
  for (auto now = base::boot_now(); next != woken::late || now < until; now = base::boot_now()) {
    if (now >= look_after_caller) {
      if (!doing.is_awaited()) break;
      look_after_caller = now + caller_look;
    }
    if (next == woken::told) {
      if (auto taken = take_news(op, *place->heard())) co_return std::move(*taken);
    }
    if (next != woken::late) {
      if (auto found = find_replay(op.id, op.about->print)) {
        execution out;
        out.kind = execution_kind::stored;
        out.answer = std::move(found->answer);
        out.kept = found->kept;
        tell(op, out);
        co_return out;
      }
      auto out = co_await attempt(io, op, doing);
      if (concerns_all(out.kind)) tell(op, out);
      if (out.kind != execution_kind::busy || base::boot_now() >= until) co_return out;
    }
    give_back_room(op);
    next = co_await place->wait(std::min(until, look_after_caller), params_.look_again);
  }
  co_return execution();
}

void engine::tell(const operation& op, execution execution) {
  if (waiting_.empty()) return;
  auto reply = std::make_shared<news>();
  reply->print = op.about->print;
  reply->policy = op.policy;
  reply->what = std::move(execution);
  waiting_.tell(op.id, reply);
}

/// None: it is about something else, and this one has to ask for itself.
std::optional<execution> engine::take_news(const operation& op, const news& news) {
  if (news.print != op.about->print) return std::nullopt;
  switch (news.what.kind) {
    case execution_kind::stored:
      counters_.replays.fetch_add(1, std::memory_order_relaxed);
      break;
    case execution_kind::unknown:
      if (news.policy != op.policy) return std::nullopt;
      counters_.unknowns.fetch_add(1, std::memory_order_relaxed);
      break;
    case execution_kind::backoff:
      if (news.policy != op.policy) return std::nullopt;
      counters_.backoffs.fetch_add(1, std::memory_order_relaxed);
      break;
    default:
      return std::nullopt;
  }
  return news.what;
}

}  // namespace onceguard
