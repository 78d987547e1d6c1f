#include "disturbance.hpp"

#include <algorithm>
#include <utility>

#include "history.hpp"
#include "virtual_kernel.hpp"

namespace onceguard::sim {
namespace {

constexpr std::array<std::string_view, disturbance_kinds> names{
    "crash",         "stop",        "shutdown",    "partition", "wall step",   "forget",
    "operate",       "lose",        "repeat",      "delay",     "refuse call", "fail after",
    "fail unknown",  "late answer", "no answer",   "no effect", "error after", "error before",
    "refuse work",   "leave",       "outage",      "hang",      "one way",     "front loses",
    "front returns", "front away",  "front clock", "release",   "hang up",     "store crash",
    "crash at act",  "disk error",  "slow flush"};

constexpr std::array<std::string_view, message_kinds> messages{
    "requests to the store",   "replies of the store",    "requests to the upstream",
    "replies of the upstream", "requests of the clients", "replies to the clients",
    "calls of applications",   "answers of services",     "ends of connections"};

milliseconds length_of(disturbance_kind kind, number_stream& numbers,
                       const disturbance_limits& limits) {
  switch (kind) {
    case disturbance_kind::crash:
    case disturbance_kind::shutdown:
    case disturbance_kind::store_crash:
    case disturbance_kind::crash_at_act:
      return milliseconds(numbers.between(5, 2'000));
    case disturbance_kind::stop:
      return milliseconds(numbers.between(20, 4'000));
    case disturbance_kind::partition:
    case disturbance_kind::one_way:
    case disturbance_kind::outage:
    case disturbance_kind::front_returns:
    case disturbance_kind::front_away:
      return milliseconds(numbers.between(50, 4'000));
    case disturbance_kind::disk_error:
      return milliseconds(numbers.between(50, 4'000));
    case disturbance_kind::slow_flush:
      return milliseconds(numbers.between(5, 2'000));
    case disturbance_kind::hang:
      return milliseconds(numbers.between(200, 2'500));
    case disturbance_kind::wall_step:
    case disturbance_kind::front_clock:
      return milliseconds(numbers.between(-900'000, 900'000));
    case disturbance_kind::repeat:
      return milliseconds(numbers.between(1, 1'500));
    case disturbance_kind::delay:
      return milliseconds(numbers.between(1, 1'500));
    case disturbance_kind::late_answer:
      return milliseconds(numbers.between(50, limits.upstream_timeout.count() * 2));
    default:
      return milliseconds(numbers.between(1, 1'000));
  }
}

disturbance_kind one_of_calls(number_stream& numbers) {
  const auto first = static_cast<std::int64_t>(disturbance_kind::refuse_call);
  return static_cast<disturbance_kind>(numbers.between(first, first + 2));
}

disturbance_kind one_of_front(number_stream& numbers) {
  const auto first = static_cast<std::int64_t>(disturbance_kind::front_loses);
  const auto last = static_cast<std::int64_t>(disturbance_kind::release);
  return static_cast<disturbance_kind>(numbers.between(first, last));
}

disturbance_kind one_of_disk(number_stream& numbers) {
  const auto first = static_cast<std::int64_t>(disturbance_kind::store_crash);
  const auto last = static_cast<std::int64_t>(disturbance_kind::slow_flush);
  return static_cast<disturbance_kind>(numbers.between(first, last));
}

/// Of the upstream or the clients.
bool is_of_others(disturbance_kind kind) noexcept {
  return kind >= disturbance_kind::late_answer && kind <= disturbance_kind::leave;
}

void choose_moment_of_front(disturbance& out, number_stream& numbers,
                            const disturbance_limits& limits) {
  out.where = limits.front;
  out.other = out.kind == disturbance_kind::front_away
                  ? limits.gateways
                  : static_cast<std::size_t>(numbers.between(0, 1));
  out.moment = static_cast<std::uint64_t>(numbers.between(500, limits.time.count()));
}

void choose_moment_of_disk(disturbance& out, number_stream& numbers,
                           const disturbance_limits& limits) {
  const bool timed = out.kind == disturbance_kind::store_crash;
  out.where = numbers.chance(35) ? 1 : 0;
  std::int64_t last = out.kind == disturbance_kind::slow_flush ? 60 : 150;
  // Most work is done in the first seconds.
  if (timed) last = numbers.chance(50) ? 2'500 : limits.time.count();
  out.moment = static_cast<std::uint64_t>(numbers.between(timed ? 5 : 0, last));
}

/// Half of what cuts machines off from one another is between an application and a service.
void cut_off_service(disturbance& out, number_stream& numbers, const disturbance_limits& limits) {
  if (limits.applications == 0 || !numbers.chance(50)) return;
  const auto applications = static_cast<std::int64_t>(limits.applications);
  const auto gateways = static_cast<std::int64_t>(limits.gateways);
  out.where = static_cast<std::size_t>(numbers.between(0, applications - 1));
  out.other = static_cast<std::size_t>(numbers.between(applications, gateways - 1));
}

/// What meets the connections of applications: messages, ends, and both at once.
disturbance_kind one_of_connections(number_stream& numbers) {
  if (numbers.chance(40)) return disturbance_kind::hang_up;
  const auto first = static_cast<std::int64_t>(disturbance_kind::lose);
  return static_cast<disturbance_kind>(numbers.between(first, first + 2));
}

message_kind message_met(disturbance_kind kind, number_stream& numbers,
                         const disturbance_limits& limits) {
  const bool of_service = limits.applications != 0 && numbers.chance(70);
  const std::int64_t first = of_service ? plain_message_kinds : 0;
  const std::int64_t end = of_service ? message_kinds : plain_message_kinds;
  const auto out = static_cast<message_kind>(numbers.between(first, end - 1));
  // The gateway's connections to the upstream repeat nothing.
  const bool never = kind == disturbance_kind::repeat && out == message_kind::work_request;
  return never ? message_kind::store_request : out;
}

/// Where and when it is, so that it meets something.
disturbance make(disturbance_kind kind, number_stream& numbers, const disturbance_limits& limits) {
  disturbance out;
  out.kind = kind;
  out.length = length_of(kind, numbers, limits);
  if (kind >= disturbance_kind::store_crash) {
    choose_moment_of_disk(out, numbers, limits);
    return out;
  }
  const auto gateways = static_cast<std::int64_t>(limits.gateways);
  const auto machines = static_cast<std::int64_t>(limits.machines);
  switch (kind) {
    case disturbance_kind::crash:
    case disturbance_kind::stop:
    case disturbance_kind::shutdown:
      out.where = static_cast<std::size_t>(numbers.between(0, gateways - 1));
      out.other = numbers.chance(20) ? 1 : 0;
      out.moment = static_cast<std::uint64_t>(
          numbers.between(1, out.other == 1 ? limits.time.count() : 150));
      break;
    case disturbance_kind::partition:
      out.where = static_cast<std::size_t>(numbers.between(0, gateways - 1));
      out.other = static_cast<std::size_t>(numbers.between(gateways, machines - 1));
      out.moment = static_cast<std::uint64_t>(numbers.between(0, limits.time.count()));
      cut_off_service(out, numbers, limits);
      break;
    case disturbance_kind::wall_step:
      out.where = static_cast<std::size_t>(numbers.between(0, gateways));  // or the store
      out.moment = static_cast<std::uint64_t>(numbers.between(0, limits.time.count()));
      break;
    case disturbance_kind::one_way:
      out.where = static_cast<std::size_t>(numbers.between(0, gateways - 1));
      out.other = static_cast<std::size_t>(numbers.between(gateways, machines - 1));
      cut_off_service(out, numbers, limits);
      if (numbers.chance(50)) std::swap(out.where, out.other);
      out.moment = static_cast<std::uint64_t>(numbers.between(0, limits.time.count()));
      break;
    case disturbance_kind::forget:
    case disturbance_kind::operate:
      out.where = numbers.chance(50) ? 1 : 0;
      out.moment = static_cast<std::uint64_t>(numbers.between(500, limits.time.count()));
      break;
    case disturbance_kind::front_loses:
    case disturbance_kind::front_returns:
    case disturbance_kind::front_away:
    case disturbance_kind::front_clock:
    case disturbance_kind::release:
      choose_moment_of_front(out, numbers, limits);
      break;
    case disturbance_kind::lose:
    case disturbance_kind::repeat:
    case disturbance_kind::delay:
      out.where = static_cast<std::size_t>(message_met(kind, numbers, limits));
      out.moment = static_cast<std::uint64_t>(numbers.between(0, 40));
      break;
    case disturbance_kind::refuse_call:
    case disturbance_kind::fail_after:
    case disturbance_kind::fail_unknown:
      out.where = static_cast<std::size_t>(numbers.between(0, call_kinds - 1));
      out.moment = static_cast<std::uint64_t>(numbers.between(0, out.where == 0 ? 60 : 7));
      break;
    case disturbance_kind::outage:
      out.where = static_cast<std::size_t>(numbers.between(0, 4));
      out.moment = static_cast<std::uint64_t>(numbers.between(0, 60));
      break;
    default:
      out.moment =
          static_cast<std::uint64_t>(numbers.between(0, kind == disturbance_kind::hang ? 25 : 15));
  }
  return out;
}

}  // namespace

std::string_view name_of(disturbance_kind kind) noexcept {
  return names[static_cast<std::size_t>(kind)];
}

std::string text_of(const disturbance& each) {
  std::string out(name_of(each.kind));
  const auto number = std::to_string(each.moment);
  const auto where = std::to_string(each.where);
  const auto length = std::to_string(each.length.count()) + " ms";
  switch (each.kind) {
    case disturbance_kind::crash:
    case disturbance_kind::stop:
    case disturbance_kind::shutdown:
      return out + " machine " + where +
             (each.other == 1 ? " at " + number + " ms" : " after its step " + number) + ", for " +
             length;
    case disturbance_kind::partition:
      return out + " of machines " + where + " and " + std::to_string(each.other) + " at " +
             number + " ms, for " + length;
    case disturbance_kind::wall_step:
      return out + " of machine " + where + " at " + number + " ms, by " + length;
    case disturbance_kind::refuse_call:
    case disturbance_kind::fail_after:
    case disturbance_kind::fail_unknown: {
      constexpr std::array<std::string_view, call_kinds> kinds{"calls", "claims", "settles",
                                                               "renewals"};
      return out + " no. " + number + " of the " + std::string(kinds[each.where]);
    }
    case disturbance_kind::one_way:
      return out + " from machine " + where + " to " + std::to_string(each.other) + " at " +
             number + " ms, for " + length;
    case disturbance_kind::outage: {
      constexpr std::array<std::string_view, 5> ways{"not done, and said so", "done", "not done",
                                                     "now this way, now that", "most"};
      return out + " from call " + number + " on, for " + length + ": " +
             std::string(ways[each.where]);
    }
    case disturbance_kind::front_loses:
    case disturbance_kind::release:
      return out + " at " + number + " ms";
    case disturbance_kind::front_returns:
      return out + " at " + number + " ms to what it was " + length + " before, as " +
             (each.other == 1 ? "itself" : "another");
    case disturbance_kind::store_crash:
      return out + (each.where == 0 ? " without power" : " by a signal") + " at " + number +
             " ms, for " + length;
    case disturbance_kind::crash_at_act:
      return out + (each.where == 0 ? " without power" : " by a signal") + " no. " + number +
             " on the disk, for " + length;
    case disturbance_kind::disk_error:
      return out + " at act no. " + number +
             (each.where == 0 ? ", once" : ", which is full for " + length);
    case disturbance_kind::front_away:
    case disturbance_kind::front_clock:
      return out + " at " + number + " ms, " + length;
    case disturbance_kind::forget:
    case disturbance_kind::operate:
      return out + " at " + number + " ms" + (each.where == 1 ? ", at once" : "");
    case disturbance_kind::lose:
    case disturbance_kind::repeat:
    case disturbance_kind::delay:
      return out + " no. " + number + " of the " + std::string(messages[each.where]) +
             (each.kind == disturbance_kind::lose ? "" : ", by " + length);
    default:
      return out + " no. " + number + ", " + length;
  }
}

plan make_plan(number_stream& numbers, const disturbance_limits& limits) {
  plan out;
  // A run in ten has none, and few are the rule: what they cause is seen best alone.
  if (numbers.chance(10)) return out;
  // In some a single call of the store fails, beside what the upstream and the clients do.
  const bool mild = numbers.chance(15);
  const bool only_others = mild || numbers.chance(15);
  const bool only_front = limits.front != 0 && !only_others && numbers.chance(20);
  if (mild) out.push_back(make(one_of_calls(numbers), numbers, limits));
  const auto count = numbers.between(mild ? 0 : 1, static_cast<std::int64_t>(limits.most));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto kinds = limits.front == 0 ? plain_disturbance_kinds : tiered_disturbance_kinds;
    auto kind =
        static_cast<disturbance_kind>(numbers.between(0, static_cast<std::int64_t>(kinds) - 1));
    // What is the accelerator's is met more often.
    if (only_front || (limits.front != 0 && numbers.chance(40))) kind = one_of_front(numbers);
    if (limits.applications != 0 && numbers.chance(40)) kind = one_of_connections(numbers);
    if (limits.disk && numbers.chance(50)) kind = one_of_disk(numbers);
    if (kind == disturbance_kind::forget && !limits.forgets) continue;
    if (only_others && !is_of_others(kind)) continue;
    out.push_back(make(kind, numbers, limits));
  }
  if (limits.forgets && !only_others && !only_front && numbers.chance(40))
    out.push_back(make(disturbance_kind::forget, numbers, limits));
  if (limits.disk && !only_others && numbers.chance(60))
    out.push_back(make(disturbance_kind::store_crash, numbers, limits));
  return out;
}

}  // namespace onceguard::sim
