#include "store/postgres/dispatcher.hpp"

#include "base/hash.hpp"
#include "store/view.hpp"

namespace onceguard::postgres {
namespace {

constexpr std::size_t announced_bytes = 8;  // of each digest

/// How long until a record that somebody else is writing is tried again.
std::chrono::milliseconds pause_before(std::uint32_t tries) {
  return std::chrono::milliseconds(std::min(2u << std::min(tries, 5u), 50u));
}

}  // namespace

// --- trips ----------------------------------------------------------------------------------

template <class Kind>
class batch_trip final : public trip {
 public:
  batch_trip(dispatcher& dispatcher, typename request_queue<Kind>::batch entries)
      : from_(dispatcher), entries_(std::move(entries)) {
    if constexpr (std::is_same_v<Kind, claims>) expected_ = dispatcher.generation_;
    for (const auto& one : entries_) parcels_.push_back({&one.item(), one.with_subject});
    confirms_ =
        dispatcher.standby_distrusted_ ||
        std::any_of(entries_.begin(), entries_.end(), [](const auto& e) { return e.doubtful; });
  }

  [[nodiscard]] const char* statement() const noexcept override { return Kind::statement; }
  [[nodiscard]] bool confirms() const noexcept override { return confirms_; }
  [[nodiscard]] parameters encode(const greeting& greeting) const override {
    return Kind::encode(parcels_, {greeting, from_.expiry_paused_, expected_});
  }
  [[nodiscard]] std::string announcement() const override {
    std::string out;
    if constexpr (Kind::announced) {
      for (const auto& one : entries_) {
        out += base::to_hex(std::span(one.item().id).template first<announced_bytes>());
      }
    }
    return out;
  }
  void arrived(const rows& results) override { from_.arrived(*this, results); }
  void failed(const failure& why, effect_of_failure after) override {
    from_.failed(*this, why, after);
  }

 private:
  friend class dispatcher;
  dispatcher& from_;
  typename request_queue<Kind>::batch entries_;
  std::vector<parcel<typename Kind::item>> parcels_;
  known_generation expected_;  // of the memory that claims meet
  bool confirms_ = false;
};

class question_trip final : public trip {
 public:
  question_trip(dispatcher& dispatcher, std::shared_ptr<question> shared)
      : from_(dispatcher),
        question_(std::move(shared)),
        confirms_(dispatcher.standby_distrusted_) {}

  [[nodiscard]] const char* statement() const noexcept override { return question_->statement(); }
  [[nodiscard]] bool confirms() const noexcept override { return confirms_; }
  [[nodiscard]] parameters encode(const greeting&) const override {
    return question_->encode({from_, from_.expiry_paused_});
  }
  void arrived(const rows& results) override { from_.arrived(*this, results); }
  void failed(const failure& why, effect_of_failure after) override {
    from_.failed(*this, why, after);
  }

 private:
  friend class dispatcher;
  dispatcher& from_;
  std::shared_ptr<question> question_;
  const bool confirms_;
};

// --- jobs -----------------------------------------------------------------------------------

template <>
void batch_job<claim, verdict>::queue_in(dispatcher& dispatcher, const call_ptr& self) {
  dispatcher.queue<claims>(self, std::static_pointer_cast<batch_job>(self));
}
template <>
void batch_job<settlement, settled>::queue_in(dispatcher& dispatcher, const call_ptr& self) {
  dispatcher.queue<settles>(self, std::static_pointer_cast<batch_job>(self));
}
template <>
void batch_job<extension, bool>::queue_in(dispatcher& dispatcher, const call_ptr& self) {
  dispatcher.queue<extensions>(self, std::static_pointer_cast<batch_job>(self));
}

void question::queue_in(dispatcher& dispatcher, const call_ptr& self) {
  dispatcher.questions_.push_back(std::static_pointer_cast<question>(self));
}

template <class Kind>
void dispatcher::queue(const call_ptr& self,
                       std::shared_ptr<typename entry<Kind>::job_type> whole) {
  if (whole->size() == 0) return finish(self);
  for (std::size_t i = 0; i < whole->size(); ++i) {
    entry<Kind> one;
    one.of = whole;
    one.index = i;
    if (auto wrong = Kind::complaint(one.item())) {
      if (whole->take()) conclude<Kind>(one, std::move(*wrong));
    } else {
      queue_of<Kind>().push(std::move(one));
    }
  }
}

void dispatcher::accept(std::vector<call_ptr>& calls) {
  for (const auto& one : calls) static_cast<job&>(*one).queue_in(*this, one);
  calls.clear();
}

template <class Kind>
void dispatcher::conclude(entry<Kind>& ended, result<typename Kind::outcome> entry) {
  if (ended.of->conclude(ended.index, std::move(entry))) finish(ended.of);
}

template <class Kind>
void dispatcher::conclude_lapsed(entry<Kind>& ended) {
  conclude<Kind>(ended, lapsed(ended.doubtful));
}

template <class Kind>
void dispatcher::retry(entry<Kind> again, steady_time now) {
  again.not_before = now + pause_before(again.tries++);
  queue_of<Kind>().push_front(std::move(again));
}

// --- sending --------------------------------------------------------------------------------

std::unique_ptr<trip> dispatcher::next() {
  for (unsigned i = 0; i < 4; ++i) {
    std::unique_ptr<trip> out;
    switch (turn_++ % 4) {
      case 0:
        out = next_batch<settles>();
        break;
      case 1:
        out = next_batch<extensions>();
        break;
      case 2:
        out = next_batch<claims>();
        break;
      default:
        out = next_question();
        break;
    }
    if (out) {
      ++trips_;
      return out;
    }
  }
  return nullptr;
}

template <class Kind>
std::unique_ptr<trip> dispatcher::next_batch() {
  auto& source = queue_of<Kind>();
  if constexpr (std::is_same_v<Kind, claims>) {
    if (!memory_.known()) refuse_claims();
    if (claims_held_) return nullptr;
  }
  if (source.empty()) return nullptr;
  typename request_queue<Kind>::batch over;
  auto batch =
      source.take(params_.batch_max, params_.batch_bytes, under_way_, base::boot_now(), over);
  for (auto& one : over) conclude_lapsed<Kind>(one);
  if (batch.empty()) return nullptr;
  return std::make_unique<batch_trip<Kind>>(*this, std::move(batch));
}

std::unique_ptr<trip> dispatcher::next_question() {
  // One question at a time, so that a long question leaves the other connections to claims and
  // settles.
  if (questions_under_way_ > 0) return nullptr;
  const auto now = base::boot_now();
  while (!questions_.empty()) {
    auto request = questions_.front();
    if (request->not_before > now) return nullptr;
    questions_.pop_front();
    if (!request->take()) continue;
    ++questions_under_way_;
    return std::make_unique<question_trip>(*this, std::move(request));
  }
  return nullptr;
}

// --- what came back -------------------------------------------------------------------------

void dispatcher::ended(bool confirmed) {
  --trips_;
  if (confirmed) standby_distrusted_ = false;
}

template <class Kind>
void dispatcher::arrived(batch_trip<Kind>& trip, const rows& results) {
  auto replies = Kind::decode(results, trip.parcels_);  // may throw: then it failed
  ended(trip.confirms_);
  if constexpr (std::is_same_v<Kind, claims>) {
    take_generations(trip.expected_, trip.entries_,
                     claims::generations_in(results, trip.entries_.size()));
  }
  const auto now = base::boot_now();
  for (const auto& one : trip.entries_) under_way_.erase(one.item().id);
  // From the last to the first, so that entries that go back into the queue keep their order.
  for (std::size_t i = trip.entries_.size(); i-- > 0;)
    take_reply(trip.entries_[i], replies[i], now);
}

template <class Kind>
void dispatcher::take_reply(entry<Kind>& entry, reply<typename Kind::outcome>& answer,
                            steady_time now) {
  std::optional<verdict> subject;
  using kind = typename reply<typename Kind::outcome>::kind;
  if constexpr (std::is_same_v<Kind, claims>) {
    // A claim that was never sent before is busy: another claim is writing the record. A claim in
    // doubt is sent again later, because its own first sending may be the writer.
    if (answer.what == kind::locked && !entry.doubtful) {
      answer.what = kind::answered;
      answer.outcome.emplace(claims::locked());
    }
    if (answer.what == kind::answered && *answer.outcome) subject = answer.outcome->value();
    if (subject && subject->kind == verdict_kind::run && !memory_.known())
      return put_grant_in_doubt(entry);
    take_joined(entry, subject);
  }
  switch (answer.what) {
    case kind::answered:
      return conclude<Kind>(entry, std::move(*answer.outcome));
    case kind::needs_subject:
      if constexpr (std::is_same_v<Kind, settles>) {
        if (entry.with_subject || !entry.item().about)
          return conclude<Kind>(entry, subject_missing());
        entry.with_subject = true;
      }
      return queue_of<Kind>().push_front(std::move(entry));
    case kind::locked:
      if (entry.of->give_up_at() <= now)
        return conclude<Kind>(entry, lock_held(name_, entry.doubtful));
      return retry(std::move(entry), now);
  }
}

/// The memory changed while the claim was in flight: nobody holds the granted lease, and it is
/// given back.
void dispatcher::put_grant_in_doubt(entry<claims>& entry) {
  take_joined(entry, std::nullopt);
  conclude<claims>(entry, not_what_it_was(name_, effect::done));
}

/// No claim is sent to a memory that the users of the store don't know yet.
void dispatcher::refuse_claims() {
  for (auto& one : queue_of<claims>().drain()) {
    const auto left = one.doubtful ? effect::unknown : effect::none;
    if (one.of->take()) conclude<claims>(one, not_what_it_was(name_, left));
  }
}

/// Answers the claims that joined another claim with that claim's verdict, or sends them by
/// themselves.
void dispatcher::take_joined(entry<claims>& entry, const std::optional<verdict>& reply) {
  auto joined = std::exchange(entry.joined, {});
  for (auto one = joined.rbegin(); one != joined.rend(); ++one) {
    auto along =
        reply ? claims::verdict_of_joined(entry.item(), *reply, one->item()) : std::nullopt;
    if (along) {
      conclude<claims>(*one, std::move(*along));
    } else {
      queue_of<claims>().push_front(std::move(*one));
    }
  }
}

template <class Kind>
void dispatcher::failed(batch_trip<Kind>& trip, const failure& why, effect_of_failure after) {
  ended(false);
  if (after == effect_of_failure::unknown && !why.lost) standby_distrusted_ = true;
  if (why.sqlstate == another_memory) memory_.changed();
  const auto now = base::boot_now();
  const auto cure = remedy_of(why);
  for (const auto& one : trip.entries_) under_way_.erase(one.item().id);
  const bool several = trip.entries_.size() > 1;
  for (std::size_t i = trip.entries_.size(); i-- > 0;) {
    auto& one = trip.entries_[i];
    if constexpr (std::is_same_v<Kind, claims>) take_joined(one, std::nullopt);
    one.doubtful = one.doubtful || after == effect_of_failure::unknown;
    const bool late = one.of->give_up_at() <= now;
    if (after == effect_of_failure::unknown || cure == remedy::reconnect) {
      if (late) {
        conclude<Kind>(one, to_error(why, name_, one.doubtful ? effect::unknown : effect::none));
      } else {
        queue_of<Kind>().push_front(std::move(one));
      }
    } else if (cure == remedy::one_by_one && several && !late) {
      one.alone = true;
      queue_of<Kind>().push_front(std::move(one));
    } else if (transient(why) && !late) {
      retry(std::move(one), now);
    } else {
      conclude<Kind>(one, to_error(why, name_, one.doubtful ? effect::unknown : effect::none));
    }
  }
}

void dispatcher::arrived(question_trip& trip, const rows& results) {
  const bool answered = trip.question_->arrived(results, {*this, expiry_paused_});  // may throw
  ended(trip.confirms_);
  --questions_under_way_;
  if (answered) return finish(trip.question_);
  const auto now = base::boot_now();
  if (trip.question_->give_up_at() <= now) {
    trip.question_->fail(lock_held(name_, false));
    return finish(trip.question_);
  }
  trip.question_->not_before = now + pause_before(trip.question_->tries++);
  questions_.push_front(trip.question_);
}

void dispatcher::failed(question_trip& trip, const failure& why, effect_of_failure after) {
  ended(false);
  --questions_under_way_;
  if (after == effect_of_failure::unknown && !why.lost) standby_distrusted_ = true;
  if (why.sqlstate == another_memory) memory_.changed();
  const auto& request = trip.question_;
  const auto now = base::boot_now();
  const bool again = after == effect_of_failure::unknown
                         ? why.lost && request->repeatable()
                         : transient(why) || remedy_of(why) == remedy::reconnect;
  if (again && request->give_up_at() > now) {
    if (after == effect_of_failure::rolled_back)
      request->not_before = now + pause_before(request->tries++);
    return questions_.push_front(request);
  }
  const bool in_doubt = after == effect_of_failure::unknown && !request->repeatable();
  request->fail(to_error(why, name_, in_doubt ? effect::unknown : effect::none));
  finish(request);
}

// --- giving up ------------------------------------------------------------------------------

bool dispatcher::waiting() const noexcept {
  return !questions_.empty() || !std::get<0>(queues_).empty() || !std::get<1>(queues_).empty() ||
         !std::get<2>(queues_).empty();
}

void dispatcher::purge() {
  const auto now = base::boot_now();
  const auto purge_queue = [&]<class Kind>(request_queue<Kind>& queue) {
    typename request_queue<Kind>::batch over;
    queue.purge(now, over);
    for (auto& one : over) conclude_lapsed<Kind>(one);
  };
  std::apply([&](auto&... each) { (purge_queue(each), ...); }, queues_);
  std::erase_if(questions_, [&](const std::shared_ptr<question>& shared) {
    const bool over = shared->give_up_at() <= now || shared->dropped();
    if (over && shared->take()) {
      shared->fail(lapsed(false));
      finish(shared);
    }
    return over;
  });
}

void dispatcher::fail_waiting(const error& why) {
  const auto fail_queue = [&]<class Kind>(request_queue<Kind>& queue) {
    for (auto& one : queue.drain()) {
      auto mine = why;
      if (one.doubtful) mine.effect = effect::unknown;
      // take() comes first, because the caller may give up at the same moment.
      if (one.of->take()) conclude<Kind>(one, std::move(mine));
    }
  };
  std::apply([&](auto&... each) { (fail_queue(each), ...); }, queues_);
  for (const auto& request : std::exchange(questions_, {})) {
    if (!request->take()) continue;
    request->fail(why);
    finish(request);
  }
}

}  // namespace onceguard::postgres
