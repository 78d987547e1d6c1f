#include "world.hpp"

#include <algorithm>
#include <utility>

namespace onceguard::sim {
namespace {

constexpr std::size_t flagged_by_time = 1;  // `other` of a crash: `moment` is a time, not a step

bool is_by_step(const disturbance& each) noexcept {
  const bool of_machine = each.kind == disturbance_kind::crash ||
                          each.kind == disturbance_kind::stop ||
                          each.kind == disturbance_kind::shutdown;
  return of_machine && each.other != flagged_by_time;
}

bool is_by_time(const disturbance& each) noexcept {
  switch (each.kind) {
    case disturbance_kind::partition:
    case disturbance_kind::wall_step:
    case disturbance_kind::forget:
    case disturbance_kind::operate:
    case disturbance_kind::one_way:
    case disturbance_kind::front_loses:
    case disturbance_kind::front_returns:
    case disturbance_kind::front_away:
    case disturbance_kind::front_clock:
    case disturbance_kind::release:
    case disturbance_kind::store_crash:
      return true;
    case disturbance_kind::crash:
    case disturbance_kind::stop:
    case disturbance_kind::shutdown:
      return each.other == flagged_by_time;
    default:
      return false;
  }
}

/// By values: std::minmax of two addresses gives references to them, which end with the statement.
std::pair<std::size_t, std::size_t> between(const machine& a, const machine& b) noexcept {
  return {std::min(a.index, b.index), std::max(a.index, b.index)};
}

std::int64_t in_nanoseconds(milliseconds length) noexcept { return length.count() * millisecond; }

}  // namespace

world::world(std::uint64_t seed, const plan& disturbances, history& events)
    : kernel_(seed ^ 0x6b65'726e'656c),
      random_(seed ^ 0x776f'726c'64),
      disturbances_(disturbances),
      events_(events) {
  // Neither 1970 nor the boot: the clocks differ, as real ones do.
  nowhere_.wall_shift = 1'790'000'000'000 * millisecond;
  kernel_.enter(nowhere_);
  plan_timed_disturbances();
}

machine& world::add(std::string name) {
  auto& added = *machines_.emplace_back(std::make_unique<machine>(std::move(name)));
  added.index = machines_.size() - 1;
  added.clock.boot_shift = random_.between(1'000, 100'000'000) * millisecond;
  added.clock.wall_shift = nowhere_.wall_shift + random_.between(-2'000, 2'000) * millisecond;
  return added;
}

machine& world::add_thread(machine& host) {
  auto& added = *machines_.emplace_back(std::make_unique<machine>(host.name));
  added.index = host.index;
  added.clock = host.clock;
  added.up = false;
  return added;
}

void world::start_thread(machine& thread, boost::asio::io_context& loop) {
  thread.loop = &loop;
  thread.up = true;
  thread.clock.timer_due = now();
}

void world::boot(machine& booted) {
  on(booted, [&booted] { booted.made_loop = std::make_unique<boost::asio::io_context>(1); });
  booted.loop = booted.made_loop.get();
  booted.up = true;
}

void world::power_off(machine& ended) {
  ended.up = false;
  ++ended.incarnation;
  ended.loop = nullptr;
  on(ended, [&ended] { ended.made_loop.reset(); });
  ended.clock.timer_due = never;
}

void world::after(nanoseconds wait, std::function<void()> act) {
  queue_.push({now() + wait, ++numbered_, nullptr, 0, std::move(act)});
}

void world::after_on(machine& where, nanoseconds wait, std::function<void()> act) {
  queue_.push({now() + wait, ++numbered_, &where, where.incarnation, std::move(act)});
}

bool world::cut(const machine& a, const machine& b) const {
  const auto found = cut_until_.find(between(a, b));
  if (found != cut_until_.end() && now() < found->second) return true;
  const auto mute = mute_until_.find({a.index, b.index});
  return mute != mute_until_.end() && now() < mute->second;
}

void world::send(machine& sender, machine& receiver, message_kind kind,
                 std::function<void()> arrive, bool once) {
  const auto number = counted_[static_cast<std::size_t>(kind)]++;
  auto wait = random_.between(200, 2'500) * (millisecond / 1'000);
  bool lost = cut(sender, receiver);
  nanoseconds again = 0;
  if (!calm_) {
    for (const auto& each : disturbances_) {
      if (each.where != static_cast<std::size_t>(kind) || each.moment != number) continue;
      if (each.kind == disturbance_kind::lose) lost = true;
      if (each.kind == disturbance_kind::repeat) again = in_nanoseconds(each.length);
      if (each.kind == disturbance_kind::delay) wait += in_nanoseconds(each.length);
    }
  }
  events_.note(now(), receiver.index << 8 | static_cast<std::size_t>(kind), lost ? 0 : 1);
  if (lost) return;
  if (again != 0 && !once) deliver(receiver, wait + again, arrive);
  deliver(receiver, wait, arrive);
}

void world::deliver(machine& receiver, nanoseconds wait, const std::function<void()>& arrive) {
  after_on(receiver, wait, arrive);
}

const disturbance* world::next_of(disturbance_kind kind) {
  // Requests to the upstream share one counter.
  auto first = kind;
  if (kind > disturbance_kind::late_answer && kind <= disturbance_kind::refuse_work) {
    first = disturbance_kind::late_answer;
  }
  const auto number = counted_[message_kinds + static_cast<std::size_t>(first)]++;
  if (calm_) return nullptr;
  const auto last = first == disturbance_kind::late_answer ? disturbance_kind::refuse_work : first;
  for (const auto& each : disturbances_) {
    if (each.kind >= first && each.kind <= last && each.moment == number) return &each;
  }
  return nullptr;
}

const disturbance* world::fault_of_outage() {
  auto way = static_cast<std::int64_t>(outage_.where);
  if (way > 2) {
    if (!random_.chance(way == 3 ? 50 : 80)) return nullptr;
    way = random_.between(0, 2);
  }
  outage_.kind =
      static_cast<disturbance_kind>(static_cast<std::int64_t>(disturbance_kind::refuse_call) + way);
  return &outage_;
}

const disturbance* world::next_fault_of_call(call_kind kind) {
  const auto of_all = calls_[0]++;
  const auto of_kind = kind == call_kind::any ? of_all : calls_[static_cast<std::size_t>(kind)]++;
  if (calm_) return nullptr;
  const disturbance* alone = nullptr;
  for (const auto& each : disturbances_) {
    if (each.kind == disturbance_kind::outage && each.moment == of_all) {
      outage_.where = each.where;
      outage_until_ = std::max(outage_until_, now() + in_nanoseconds(each.length));
    }
    const bool fails =
        each.kind >= disturbance_kind::refuse_call && each.kind <= disturbance_kind::fail_unknown;
    const bool meant =
        (each.where == 0 && each.moment == of_all) ||
        (each.where != 0 && each.where == static_cast<std::size_t>(kind) && each.moment == of_kind);
    if (fails && meant) alone = &each;
  }
  return alone == nullptr && now() < outage_until_ ? fault_of_outage() : alone;
}

void world::plan_timed_disturbances() {
  for (const auto& each : disturbances_) {
    if (!is_by_time(each)) continue;
    after(static_cast<nanoseconds>(each.moment) * millisecond, [this, &each] {
      if (!calm_) begin(each);
    });
  }
}

void world::begin(const disturbance& each) {
  switch (each.kind) {
    case disturbance_kind::stop:
      return stop_machine(machine_at(each.where), each.length);
    case disturbance_kind::wall_step:
    case disturbance_kind::front_clock:
      on_each_thread(each.where, [&each](machine& thread) {
        thread.clock.wall_shift += in_nanoseconds(each.length);
      });
      return;
    case disturbance_kind::partition: {
      auto& until = cut_until_[between(machine_at(each.where), machine_at(each.other))];
      until = std::max(until, now() + in_nanoseconds(each.length));
      return;
    }
    case disturbance_kind::front_away:
      for (std::size_t i = 0; i < each.other; ++i) {
        auto& until = cut_until_[{i, each.where}];
        until = std::max(until, now() + in_nanoseconds(each.length));
      }
      return;
    case disturbance_kind::one_way: {
      auto& until = mute_until_[{each.where, each.other}];
      until = std::max(until, now() + in_nanoseconds(each.length));
      return;
    }
    default:
      if (on_disturbance) on_disturbance(each);
  }
}

void world::stop_machine(machine& where, milliseconds length) {
  events_.add({.time = now(),
               .kind = event_kind::stop,
               .machine = static_cast<std::uint8_t>(where.index),
               .value = length.count()});
  const auto until = now() + in_nanoseconds(length);
  on_each_thread(where.index, [until](machine& thread) {
    thread.stopped_until = std::max(thread.stopped_until, until);
  });
}

void world::disturb_at_step(machine& where) {
  if (calm_) return;
  for (const auto& each : disturbances_) {
    if (each.where == where.index && each.moment == where.steps && is_by_step(each)) begin(each);
  }
}

void world::run_loop(machine& where, bool counted) {
  if (where.loop == nullptr) return;
  where.loop->restart();
  while (where.up && where.stopped_until <= now()) {
    kernel_.enter(where.clock);
    const auto ran = where.loop->poll_one();
    kernel_.enter(nowhere_);
    if (ran == 0) return;
    ++handlers_;
    if (!counted) continue;
    ++where.steps;
    disturb_at_step(where);
  }
}

void world::run_with_threads(machine& where, bool counted) {
  run_loop(where, counted);
  for (const auto& each : machines_) {
    if (each->index == where.index && each.get() != &where) run_loop(*each, false);
  }
}

nanoseconds world::due(const machine& where) const noexcept {
  if (!where.up || where.loop == nullptr) return never;
  // What a stop has interrupted goes on as soon as it is over.
  if (where.stopped_until > now()) return where.stopped_until;
  return where.clock.timer_due;
}

void world::run(event next) {
  if (next.where == nullptr) return next.act();
  auto& where = *next.where;
  if (!where.up || where.incarnation != next.incarnation) return;
  if (where.stopped_until > now()) {
    next.time = where.stopped_until;
    queue_.push(std::move(next));  // with its number: the order stays
    return;
  }
  on(where, next.act);
  run_with_threads(where, true);
}

void world::run_until(nanoseconds time) {
  for (;;) {
    machine* next = nullptr;
    auto due_next = queue_.empty() ? never : queue_.top().time;
    for (const auto& each : machines_) {
      if (const auto its = due(*each); its < due_next) {
        due_next = its;
        next = each.get();
      }
    }
    if (due_next > time) break;
    kernel_.set_now(std::max(due_next, now()));
    if (next != nullptr) {
      run_with_threads(*next, false);
      // A loop that had nothing to do waits for its next timer.
      if (next->clock.timer_due <= now()) next->clock.timer_due = now() + millisecond / 10;
      continue;
    }
    auto first = std::move(const_cast<event&>(queue_.top()));
    queue_.pop();
    run(std::move(first));
  }
  kernel_.set_now(time);
}

void world::calm_down() {
  calm_ = true;
  cut_until_.clear();
  mute_until_.clear();
  for (const auto& each : machines_) each->stopped_until = std::min(each->stopped_until, now());
  events_.add({.time = now(), .kind = event_kind::calm});
}

}  // namespace onceguard::sim
