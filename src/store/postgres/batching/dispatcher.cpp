#include "store/postgres/batching/dispatcher.hpp"

#include <algorithm>

#include "base/hex.hpp"
#include "base/log.hpp"
#include "store/postgres/batching/batch_trip.hpp"

namespace onceguard::postgres {
namespace {

constexpr std::size_t announced_bytes = 8;                         // of each digest
constexpr std::size_t announced_most = 400 * 2 * announced_bytes;  // a notification has 8,000 bytes

// The same keys come again and again.
constexpr std::size_t attention_most = 1'000;
constexpr std::chrono::milliseconds attention_interval{1'000};

/// How long until a record that somebody else is writing is tried again.
std::chrono::milliseconds pause_before(std::uint32_t tries) {
  return std::chrono::milliseconds(std::min(2u << std::min(tries, 5u), 50u));
}

/// About how many bytes the request takes in a statement.
std::size_t weight_of(const request& one) {
  constexpr std::size_t row_overhead = 512;
  if (const auto* done = std::get_if<completion>(&one.content)) {
    return row_overhead + done->outcome.size();
  }
  const auto* row = std::get_if<row_to_write>(&one.content);
  return row_overhead +
         (row != nullptr && row->record.answer ? row->record.answer->body.size() : 0);
}

/// What needs no caller: a notification of others, or of this process by others.
class notice_trip final : public trip {
 public:
  notice_trip(const statement& sent, parameters values) : call_{&sent, std::move(values)} {}
  [[nodiscard]] std::vector<statement_call> calls(std::int64_t) override { return {call_}; }
  void arrived(const std::vector<result_ptr>&) override {}
  void failed(const failure&, effect_of_failure) override {}  // it is a hint

 private:
  const statement_call call_;
};

}  // namespace

void dispatcher::accept(std::vector<call_ptr>& calls) {
  const auto now = base::boot_now();
  for (const auto& one : calls) {
    auto whole = std::static_pointer_cast<job>(one);
    if (whole->parts.empty()) finished_.push_back(one);
    for (auto& part : whole->parts) {
      auto& target = std::holds_alternative<question>(part.content) ? questions_ : queue_;
      target.push_back({.job = whole, .request = &part, .waits_since = now});
    }
  }
  calls.clear();
}

void dispatcher::end(entry& ended, std::optional<error> why) {
  if (why) ended.request->fail(std::move(*why));
  if (ended.job->ended_one()) finished_.push_back(std::move(ended.job));
}

/// The caller's time is up, or its request was never taken.
void dispatcher::give_up(entry& ended) {
  // take() comes first, because the caller may give up at the same moment.
  const auto why =
      ended.job->take() ? std::optional(lapsed(ended.request->doubtful)) : std::nullopt;
  end(ended, why);
}

// --- sending --------------------------------------------------------------------------------

std::unique_ptr<trip> dispatcher::next() {
  if (auto notice = next_notice()) return notice;
  if (!gate_.known()) refuse_claims();
  std::vector<entry> batch;
  // A long question leaves the other connections to claims and settles.
  if (questions_under_way_ == 0) {
    if (auto question = take_question()) batch.push_back(std::move(*question));
  }
  if (batch.empty()) {
    batch = take_batch();
  } else {
    ++questions_under_way_;
  }
  if (batch.empty()) return nullptr;
  ++trips_;
  in_flight_ += batch.size();
  return std::make_unique<batch_trip>(*this, std::move(batch));
}

std::unique_ptr<trip> dispatcher::next_notice() {
  parameters values;
  if (!announced_.empty()) {
    values.bytes(announced_.substr(0, announced_most));
    announced_.erase(0, announced_most);
    return std::make_unique<notice_trip>(notify_settled, std::move(values));
  }
  const auto now = base::boot_now();
  if (!attention_.empty() && now >= attention_due_) {
    attention_due_ = now + attention_interval;
    array_value ids(type::bytes);
    for (const auto& id : attention_) ids.bytes(id);
    attention_.clear();
    values.array(ids);
    return std::make_unique<notice_trip>(note_attention, std::move(values));
  }
  if (!listening_) return nullptr;
  values.int8(listening_->connection).int8(listening_->span.count());
  listening_.reset();
  return std::make_unique<notice_trip>(await_settles, std::move(values));
}

/// While a trip with more requests is in flight, a few ones wait for others: each trip costs a
/// commit. Not for long, as the trip may be held up.
bool dispatcher::gathers(steady_time now) const {
  constexpr std::size_t few = 8;
  constexpr std::chrono::milliseconds most{1};
  if (in_flight_ <= few || queue_.size() >= in_flight_) return false;
  const auto first = std::find_if(queue_.begin(), queue_.end(), [now](const entry& each) {
    return each.request->not_before <= now;
  });
  return first != queue_.end() && now < first->waits_since + most;
}

/// At most half of all that is under way goes into one trip, so that the server commits one while
/// it carries out the next.
std::vector<entry> dispatcher::take_batch() {
  const auto now = base::boot_now();
  if (gathers(now)) return {};
  const auto most = std::min((queue_.size() + in_flight_ + 1) / 2, params_.batch_max);
  std::vector<entry> out;
  std::size_t bytes = 0;
  std::deque<entry> left;
  while (!queue_.empty() && out.size() < most && bytes < params_.batch_bytes) {
    auto next = std::move(queue_.front());
    queue_.pop_front();
    if (next.job->give_up_at <= now || next.job->dropped()) {
      give_up(next);
    } else if (next.request->not_before > now || (next.alone && !out.empty())) {
      left.push_back(std::move(next));
    } else if (!next.job->take()) {
      end(next);
    } else {
      bytes += weight_of(*next.request);
      out.push_back(std::move(next));
      if (out.back().alone) break;
    }
  }
  queue_.insert(queue_.begin(), std::make_move_iterator(left.begin()),
                std::make_move_iterator(left.end()));
  return out;
}

std::optional<entry> dispatcher::take_question() {
  const auto now = base::boot_now();
  while (!questions_.empty()) {
    if (questions_.front().request->not_before > now) return std::nullopt;
    auto next = std::move(questions_.front());
    questions_.pop_front();
    if (next.job->take()) return next;
    end(next);
  }
  return std::nullopt;
}

/// No claim is sent to a memory that the users of the store don't know yet.
void dispatcher::refuse_claims() {
  std::erase_if(queue_, [&](entry& one) {
    if (!one.request->grants()) return false;
    const auto left = one.request->doubtful ? effect::unknown : effect::none;
    if (one.job->take()) {
      end(one, not_what_it_was(name_, left));
    } else {
      end(one);
    }
    return true;
  });
}

// --- what came back -------------------------------------------------------------------------

void dispatcher::arrived(batch_trip& trip, const std::vector<result_ptr>& results) {
  trip.read(results);  // may throw: then it failed
  --trips_;
  in_flight_ -= trip.entries_.size();
  if (trip.confirms_) standby_distrusted_ = false;
  for (auto& each : trip.entries_) {
    const auto& done = *each.request;
    if (std::holds_alternative<question>(done.content)) --questions_under_way_;
    if (done.announces && done.got.listened) {
      announced_ += base::to_hex(std::span(done.id).first<announced_bytes>());
    }
    note_attention_of(done);
    if (done.got.leases > 0) memory_.count(trip.connection_, done.got.leases);
    // A poll has found another memory while the request was in flight: nobody holds the lease, and
    // it is given back.
    const bool in_doubt = done.grants() && done.got.written && !gate_.known();
    end(each, in_doubt ? std::optional(not_what_it_was(name_, effect::done)) : std::nullopt);
  }
}

/// A record whose outcome is unknown, or that can't be read, was met: operators are to find it.
void dispatcher::note_attention_of(const request& done) {
  const auto& seen = done.got;
  const auto* stored = seen.record_found();
  const bool unknown =
      stored != nullptr && observe(*stored, instant_of(seen.now, false)) == observed_state::unknown;
  if ((unknown || seen.unreadable) && attention_.size() < attention_most) {
    attention_.insert(done.id);
  }
}

void dispatcher::failed(batch_trip& trip, const failure& why, effect_of_failure after) {
  --trips_;
  in_flight_ -= trip.entries_.size();
  if (after == effect_of_failure::unknown && !why.lost) standby_distrusted_ = true;
  if (why.sqlstate == another_memory) gate_.changed();
  const bool several = trip.entries_.size() > 1;
  // From the last to the first, so that entries that go back into the queue keep their order.
  for (std::size_t i = trip.entries_.size(); i-- > 0;) {
    failed(trip.entries_[i], several, why, after);
  }
}

void dispatcher::failed(entry& one, bool several, const failure& why, effect_of_failure after) {
  auto& request = *one.request;
  const bool is_question = std::holds_alternative<question>(request.content);
  if (is_question) --questions_under_way_;
  auto& target = is_question ? questions_ : queue_;
  request.got = {};
  const bool unknown = after == effect_of_failure::unknown;
  request.doubtful = request.doubtful || (unknown && request.writes());
  const auto now = base::boot_now();
  const auto cure = remedy_of(why);
  // An operator's change in doubt is not sent again: it would undo what came after it.
  const bool final = one.job->give_up_at <= now || (request.doubtful && !request.repeatable);
  if (!final && (unknown || cure == remedy::reconnect)) return target.push_front(std::move(one));
  if (!final && cure == remedy::one_by_one && several) {
    one.alone = true;
    return target.push_front(std::move(one));
  }
  if (!final && transient(why)) {
    request.not_before = now + pause_before(one.tries++);
    return target.push_front(std::move(one));
  }
  end(one, to_error(why, name_, request.doubtful ? effect::unknown : effect::none));
}

// --- what is known of the database ----------------------------------------------------------

void dispatcher::read_clock(std::int64_t database_now) {
  const auto boot = params_.clock->boot_ms();
  if (!wall_) {
    wall_memory first;
    first.offset = database_now - boot;
    wall_.emplace(first);
  }
  const bool paused = !wall_->trusts(boot, database_now);
  if (paused == expiry_paused_.exchange(paused)) return;
  base::log(paused ? base::event::clock_stepped : base::event::clock_confirmed, {{"store", name_}});
}

void dispatcher::read_memory(const std::string& identity, std::int64_t floor) {
  if (!memory_.identity.empty() && identity != memory_.identity) gate_.changed();
  memory_.learn(identity, floor);
}

// --- giving up ------------------------------------------------------------------------------

void dispatcher::purge() {
  const auto now = base::boot_now();
  for (auto* list : {&queue_, &questions_}) {
    std::erase_if(*list, [&](entry& one) {
      const bool over = one.job->give_up_at <= now || one.job->dropped();
      if (over) give_up(one);
      return over;
    });
  }
}

void dispatcher::fail_waiting(const error& why) {
  for (auto* list : {&queue_, &questions_}) {
    for (auto& one : std::exchange(*list, {})) {
      auto mine = why;
      if (one.request->doubtful) mine.effect = effect::unknown;
      if (one.job->take()) {
        end(one, std::move(mine));
      } else {
        end(one);
      }
    }
  }
}

boost::asio::awaitable<std::vector<request>> send_all(std::shared_ptr<batch_queue> queue,
                                                      std::vector<request> requests,
                                                      milliseconds timeout) {
  const auto whole = std::make_shared<job>(std::move(requests), timeout);
  std::vector<bool> writes;
  // Noted before: once the caller's time is up, the parts belong to the store's thread alone.
  for (const auto& each : whole->parts) writes.push_back(each.writes());
  co_await perform(whole, std::move(queue), timeout);
  if (!whole->lapse()) co_return std::move(whole->parts);
  std::vector<request> out(writes.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].failed = *whole->lapse();
    if (!writes[i]) out[i].failed->effect = effect::none;
  }
  co_return out;
}

}  // namespace onceguard::postgres
