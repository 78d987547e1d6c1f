#include "checker.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "key_state.hpp"

namespace onceguard::sim {
namespace {

constexpr std::int64_t clock_tick = millisecond;  // what a store's clock counts in
constexpr std::int64_t stale_after = 7'000 * millisecond;
constexpr std::int64_t released_until = 5'000 * millisecond;

bool is_success(std::int64_t value) noexcept {
  const auto kind = static_cast<answer_kind>(value);
  return kind == answer_kind::ran || kind == answer_kind::replay || kind == answer_kind::gone;
}

class reader {
 public:
  reader(const history& events, const check_terms& terms) : events_(events), terms_(terms) {
    keys_.resize(terms.keys.size());
  }

  std::vector<violation> run() {
    for (number_ = 0; number_ < events_.all().size(); ++number_) {
      const auto& next = events_.all()[number_];
      if (next.kind == event_kind::calm) calm_ = true;
      if (next.kind == event_kind::lose_memory) forget_since(next.value);
      if (next.kind == event_kind::reboot) {
        for (auto& key : keys_) key.ended_by_boot = true;
      }
      if (next.key >= keys_.size() || !concerns_key(next.kind)) continue;
      now_ = &next;
      key_ = &keys_[next.key];
      read();
    }
    at_end();
    return std::move(found_);
  }

 private:
  static bool concerns_key(event_kind kind) noexcept { return kind <= event_kind::resolve; }

  void wrong(const std::string& fault) {
    if (key_->failed || key_->forgotten) return;
    fail(fault);
  }

  /// Also of what the store has forgotten.
  void fail(const std::string& fault) {
    if (key_->failed) return;
    key_->failed = true;
    found_.push_back({number_, fault + ": key " + std::to_string(key_ - keys_.data())});
  }

  /// The present life began after the store had forgotten what it knew. What the holders of before
  /// still do says nothing of it.
  [[nodiscard]] bool is_of_lost_life() {
    const auto kind = now_->kind;
    const bool by_token = (kind >= event_kind::dispatch && kind <= event_kind::lease_lost) ||
                          (kind >= event_kind::release && kind <= event_kind::abandon);
    if (!by_token || now_->number == 0 || now_->number > key_->lost_up_to) return false;
    if (kind == event_kind::effect) {
      key_->lost_bodies.insert(now_->body);
      key_->print_of_body[now_->body] = now_->print;
    }
    return true;
  }

  void begin_life_after_loss() {
    key_->begin_life();
    key_->forgotten = false;
    key_->lost_up_to = key_->last;
    key_->granted_anew_at = now_->time;
    for (const auto& [body, since] : key_->completed_bodies) key_->lost_bodies.insert(body);
  }

  void forget_since(std::int64_t time) {
    for (auto& key : keys_) {
      if (key.written_at >= time - clock_tick) key.forget();
    }
  }

  [[nodiscard]] const key_promise& promise() const {
    return terms_.keys[static_cast<std::size_t>(key_ - keys_.data())];
  }

  /// Whether somebody works under the last lease, which nothing that goes wrong here can end. That
  /// of a transaction is not renewed: another one may take over, as one of them commits.
  [[nodiscard]] bool is_at_work() const {
    return terms_.mild && promise().rule != key_rule::transactional && key_->last != 0 &&
           key_->at_work == key_->last;
  }

  void read() {
    if (now_->kind >= event_kind::grant) key_->written_at = now_->time;
    if (is_of_lost_life()) return;
    switch (now_->kind) {
      case event_kind::request:
        key_->open_requests[now_->number] = now_->time;
        key_->arrivals.emplace(now_->number, now_->time);
        break;
      case event_kind::answer:
        return read_answer();
      case event_kind::dispatch:
        return read_dispatch();
      case event_kind::effect:
        return read_effect();
      case event_kind::answered:
        key_->known_done = now_->number;
        key_->at_work = 0;
        break;
      case event_kind::in_doubt:
        key_->in_doubt = true;
        key_->at_work = 0;
        break;
      case event_kind::sending:
        return read_sending();
      case event_kind::lease_lost:
        key_->known_lost.insert(now_->number);
        break;
      case event_kind::grant:
      case event_kind::probe_grant:
        return read_grant();
      case event_kind::extend:
        return read_extension();
      case event_kind::complete:
        return read_completion();
      case event_kind::release:
      case event_kind::fail:
      case event_kind::abandon:
        return read_end();
      case event_kind::resolve:
        return read_resolution();
      default:
        break;
    }
  }

  void read_grant() {
    auto& key = *key_;
    if (now_->number == key.last && key.unsettled) return;  // the reply had been lost
    if (now_->number <= key.last) fail("a token came again");
    if (key.forgotten) begin_life_after_loss();
    if (key.completed) {
      if (now_->time + clock_tick < key.completed->until)
        wrong("a lease was granted over an answer");
      key.begin_life();
    }
    if (key.unsettled) {
      if (key.is_leased(now_->time + clock_tick)) wrong("two leases at a time");
      if (is_at_work()) wrong("a lease ran out under who was at work");
      const bool held = promise().rule == key_rule::hold;
      if (held && key.may_have_run) wrong("it was taken over although it may have run");
      if (promise().rule == key_rule::probe && key.may_have_run &&
          now_->kind != event_kind::probe_grant) {
        wrong("it was taken over without a question");
      }
      key.earlier_unknown = key.may_have_run;
    }
    key.last = now_->number;
    key.lease(now_->time, now_->value);
    key.unsettled = true;
    key.probes = now_->kind == event_kind::probe_grant;
    key.may_have_run = key.probes || !promise().into_started;
  }

  void read_extension() {
    if (now_->number != key_->last) return wrong("a superseded lease was renewed");
    if (!key_->unsettled) return wrong("a lease was renewed that had ended");
    key_->lease(now_->time, now_->value);
    if (now_->body != 1) return;
    key_->may_have_run = true;
    // The application has said that nothing happened.
    if (key_->probes) key_->earlier_unknown = false;
    key_->probes = false;
  }

  void read_completion() {
    auto& key = *key_;
    if (key.completed && key.completed->under == now_->number) return;  // the first one stays
    if (key.completed && now_->time + clock_tick < key.completed->until)
      return wrong("an answer was replaced");
    // What ended with its retention may be written again by a holder that got no reply.
    if (now_->number < key.last && !key.completed) wrong("a superseded lease has completed");
    if (key.completed) key.begin_life();
    key.released_bodies.erase(now_->body);  // by a holder that got no reply, too
    key.completed = completion{now_->number, now_->body, now_->value};
    key.completed_bodies.emplace(now_->body, now_->time);
    key.last_complete_at = now_->time;
    key.unsettled = false;
  }

  void read_end() {
    auto& key = *key_;
    if (now_->number != 0 && now_->number != key.last) return;  // nothing was changed
    if (now_->kind != event_kind::abandon) key.at_work = 0;
    if (now_->kind == event_kind::abandon) {
      key.lease_end = std::min(key.lease_end, now_->time);
      if (!key.may_have_run) key.unsettled = false;
      return;
    }
    // A release of what may have taken effect before leaves it unknown.
    if (now_->kind == event_kind::release && promise().rule == key_rule::hold) {
      key.unsettled = false;
    } else {
      key.lease_end = std::min(key.lease_end, now_->time);
      key.may_have_run = promise().rule == key_rule::probe && key.earlier_unknown;
    }
  }

  void read_resolution() {
    auto& key = *key_;
    if (now_->value == 0 && key.completed) {  // its answer is released
      key.released_bodies.emplace(key.completed->body, now_->time);
      key.begin_life();
      key.freed_up_to = key.last;
      return;
    }
    if (calm_ && !terms_.crashed) {
      if (!key.dispatched && !key.in_doubt) wrong("it is unknown although it never left");
      if (key.known_done == key.last) wrong("it is unknown although its answer was known");
    }
    if (now_->value != 0) {
      if (!key.completed) {
        key.completed = completion{key.last, now_->body, now_->value};
        key.completed_bodies.emplace(now_->body, now_->time);
      }
      key.unsettled = false;
      return;
    }
    const auto over = key.lease_end + promise().run.count() * millisecond;
    if (key.at_work == key.last && now_->time + clock_tick < over)
      wrong("an operator was let to release what may still run");
    const auto effects = key.effects;
    key.begin_life();
    key.freed_up_to = key.last;
    if (effects != 0 && calm_) wrong("an operator was let to release what took effect");
  }

  /// A holder begins only while a third of its lease is left, so that it ends in time.
  void read_sending() {
    auto& key = *key_;
    if (now_->number < key.last) return wrong("work began under a superseded lease");
    const auto length = key.lease_end - key.counted_at;
    if (now_->time > key.counted_at + length - length / 3 + clock_tick)
      wrong("work began although its lease was nearly over");
    key.at_work = now_->number;
  }

  void read_dispatch() {
    auto& key = *key_;
    key.dispatched = true;
    if (key.known_lost.contains(now_->number))
      return fail("a request left under a lease that was known to be lost");
    if (now_->number < key.last) return wrong("a request left under a superseded lease");
    if (key.answered) return wrong("a request left after an answer was returned");
    if (now_->time >= key.lease_end + clock_tick)
      wrong("a request left after the end of its lease");
  }

  void read_effect() {
    auto& key = *key_;
    key.print_of_body[now_->body] = now_->print;
    if (key.completed && now_->time >= key.completed->until) key.begin_life();
    ++key.effects;
    key.effect_body = now_->body;
    key.effect_print = now_->print;
    if (now_->number <= key.freed_up_to) wrong("it took effect after an operator had released it");
    const bool once = promise().rule != key_rule::rerun || (terms_.calm && !key.in_doubt);
    // Where a rerun is asked for, the first attempt may end after the second.
    if (key.answered && once) wrong("it took effect after an answer was returned");
    if (key.effects > 1 && once) wrong("it took effect twice");
  }

  void read_answer() {
    auto& key = *key_;
    const auto kind = static_cast<answer_kind>(now_->value);
    if (const auto open = key.open_requests.find(now_->number); open != key.open_requests.end()) {
      check_wait(kind, open->second);
      key.open_requests.erase(open);
    }
    if (is_success(now_->value)) return read_success(kind);
    if (now_->number > terms_.first_of_asked) last_asked_[now_->key] = {number_, kind};
    const bool over = now_->time >= key.lease_end;
    if (is_at_work() && over && kind == answer_kind::unknown)
      return wrong("a lease ran out under who was at work");
    if (!terms_.calm || key.in_doubt) return;
    // The lease of a transaction is not renewed, however long its request takes to leave.
    const bool transaction = promise().rule == key_rule::transactional;
    if (transaction && kind == answer_kind::superseded) return;
    if (kind == answer_kind::unknown || kind == answer_kind::unavailable ||
        kind == answer_kind::unrecorded || kind == answer_kind::superseded) {
      wrong("nothing went wrong, and a client got no answer");
    }
  }

  /// Who waits for a running twin hears when it has ended.
  void check_wait(answer_kind kind, std::int64_t arrived) {
    if (!terms_.calm || key_->in_doubt || !promise().waits || !key_->completed) return;
    if (kind != answer_kind::replay && kind != answer_kind::busy) return;
    const auto known = std::max(arrived, key_->last_complete_at);
    if (now_->time - known > terms_.prompt.count() * millisecond)
      wrong("a client waited on although its twin had ended");
  }

  /// A holder that was stopped gives its own answer, and memories serve what they have for a while.
  [[nodiscard]] bool is_late_answer_of_lost_life(answer_kind kind) const {
    if (!key_->lost_bodies.contains(now_->body)) return false;
    if (kind != answer_kind::ran) return now_->time - key_->granted_anew_at <= stale_after;
    const auto arrival = key_->arrivals.find(now_->number);
    return arrival != key_->arrivals.end() && arrival->second <= key_->granted_anew_at;
  }

  /// No process and no copy serves an answer for long that an operator has released.
  [[nodiscard]] bool is_of_released(answer_kind kind) const {
    const auto released = key_->released_bodies.find(now_->body);
    if (kind == answer_kind::ran || released == key_->released_bodies.end()) return false;
    const auto arrival = key_->arrivals.find(now_->number);
    return arrival != key_->arrivals.end() && arrival->second > released->second + released_until;
  }

  void read_success(answer_kind kind) {
    auto& key = *key_;
    if (now_->number > terms_.first_of_asked) last_asked_[now_->key] = {number_, kind};
    const auto body = now_->body;
    if (is_late_answer_of_lost_life(kind)) return;
    if (!terms_.copies_without_truth && is_of_released(kind))
      fail("an answer was replayed after an operator had released it");
    key.answered = true;
    const auto stored = key.completed_bodies.find(body);
    if (stored == key.completed_bodies.end()) {
      return wrong("a client got an answer that was not stored");
    }
    if (!key.completed) key.answered = false;  // it is of the life before, and late
    if (key.completed && key.completed->body != body) {
      // A holder that was stopped gives its answer late, after the life that it is of.
      const auto arrival = key.arrivals.find(now_->number);
      const bool in_time = kind == answer_kind::ran
                               ? arrival != key.arrivals.end() && arrival->second <= stored->second
                               : now_->time - key.last_complete_at <= stale_after;
      if (!in_time) wrong("a client got another answer");
      key.answered = false;  // it got that of the life before
    }
    if (const auto asker = key.print_of_body.find(body);
        asker != key.print_of_body.end() && asker->second != now_->print) {
      wrong("a client got the answer of another request");
    }
    if (kind == answer_kind::replay && key.completed && !terms_.stepped &&
        now_->time > key.completed->until + stale_after) {
      wrong("an answer was replayed after its retention");
    }
  }

  void at_end() {
    number_ = events_.all().size();
    for (auto& key : keys_) {
      key_ = &key;
      if (key.unsettled && key.lease_end > events_.all().back().time + 3'600'000 * millisecond) {
        wrong("a lease has no end");
      }
    }
    for (const auto& [number, last] : last_asked_) {
      key_ = &keys_[number];
      number_ = last.first;
      const auto kind = last.second;
      if (!is_success(static_cast<std::int64_t>(kind))) {
        fail("it is stuck: the last answer was " + std::to_string(static_cast<int>(kind)));
      }
    }
    number_ = events_.all().size();
    for (auto& key : keys_) {
      key_ = &key;
      for (const auto& [request, arrived] : key.open_requests) {
        if (request > terms_.first_of_asked || terms_.calm) fail("a client got no answer at all");
      }
    }
  }

  const history& events_;
  const check_terms& terms_;
  std::vector<key_state> keys_;
  std::map<std::uint16_t, std::pair<std::size_t, answer_kind>> last_asked_;
  std::vector<violation> found_;
  const happening* now_ = nullptr;
  key_state* key_ = nullptr;
  std::size_t number_ = 0;
  bool calm_ = false;
};

}  // namespace

std::vector<violation> check(const history& events, const check_terms& terms) {
  return reader(events, terms).run();
}

}  // namespace onceguard::sim
