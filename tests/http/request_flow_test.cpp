// Every way of a request from step to step, without a socket or a store.
#include "http/request_flow.hpp"

#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace onceguard::http {
namespace {

using enum step_end;

const std::map<std::pair<step, step_end>, step> transitions{
    {{step::admit, guarded}, step::receive},
    {{step::admit, unguarded}, step::forward},
    {{step::admit, observed}, step::observe},
    {{step::admit, refused}, step::refuse},
    {{step::receive, done}, step::identify},
    {{step::receive, refused}, step::refuse},
    {{step::receive, gone}, step::over},
    {{step::identify, guarded}, step::recall},
    {{step::identify, unguarded}, step::run_unguarded},
    {{step::identify, refused}, step::refuse},
    {{step::identify, late}, step::find},
    {{step::identify, challenged}, step::challenge},
    {{step::recall, known}, step::answer},
    {{step::recall, unknown}, step::claim},
    {{step::find, known}, step::answer},
    {{step::find, unknown}, step::refuse},
    {{step::claim, granted}, step::run},
    {{step::claim, fenced}, step::probe},
    {{step::claim, known}, step::answer},
    {{step::claim, unguarded}, step::run_unguarded},
    {{step::probe, known}, step::answer},
    {{step::probe, unknown}, step::run},
    {{step::run, done}, step::settle},
    {{step::settle, done}, step::answer},
    {{step::run_unguarded, done}, step::answer},
    {{step::answer, done}, step::over},
    {{step::refuse, done}, step::over},
    {{step::challenge, done}, step::over},
    {{step::forward, done}, step::over},
    {{step::observe, done}, step::over},
};

std::vector<step> all_steps() {
  std::vector<step> out;
  for (std::size_t i = 0; i < steps; ++i) out.push_back(static_cast<step>(i));
  return out;
}

/// The flow after these ends of its steps.
step after(std::initializer_list<step_end> ends) {
  flow way;
  for (const auto end : ends) way.go_on(end);
  return way.at();
}

TEST(request_flow, each_step_ends_in_the_ways_of_the_table_and_in_no_other) {
  for (const auto before : all_steps()) {
    for (std::size_t i = 0; i < step_ends; ++i) {
      const auto end = static_cast<step_end>(i);
      const auto found = transitions.find({before, end});
      const auto next = step_after(before, end);
      EXPECT_EQ(next.has_value(), found != transitions.end()) << name_of(before) << ' ' << i;
      if (next && found != transitions.end()) {
        EXPECT_EQ(*next, found->second) << name_of(before);
      }
    }
  }
}

TEST(request_flow, an_end_that_a_step_can_t_have_is_the_caller_s_error) {
  flow way;
  EXPECT_THROW(way.go_on(known), std::logic_error);
  EXPECT_EQ(way.at(), step::admit) << "and nothing has changed";
}

// Whichever way a request takes, it ends, and no step is there in vain.
TEST(request_flow, every_step_is_reached_and_leads_to_the_end) {
  std::set<step> reached{step::admit};
  for (std::size_t i = 0; i < steps; ++i) {
    for (const auto& [way, next] : transitions) {
      if (reached.contains(way.first)) reached.insert(next);
    }
  }
  EXPECT_EQ(reached.size(), steps);
  std::set<step> ends{step::over};
  for (std::size_t i = 0; i < steps; ++i) {
    for (const auto& [way, next] : transitions) {
      if (ends.contains(next)) ends.insert(way.first);
    }
  }
  EXPECT_EQ(ends.size(), steps);
}

/// Whether `end` can be reached from `begin` without the step `avoided`.
bool leads_around(step begin, step end, step avoided) {
  std::set<step> reached{begin};
  for (std::size_t i = 0; i < steps; ++i) {
    for (const auto& [way, next] : transitions) {
      if (reached.contains(way.first) && next != avoided) reached.insert(next);
    }
  }
  return reached.contains(end);
}

TEST(request_flow, nothing_runs_under_a_lease_but_after_a_claim_and_before_a_settle) {
  EXPECT_FALSE(leads_around(step::admit, step::run, step::claim));
  EXPECT_FALSE(leads_around(step::run, step::answer, step::settle));
  EXPECT_FALSE(leads_around(step::run, step::over, step::settle));
}

TEST(request_flow, what_is_late_is_answered_or_refused_and_never_claimed) {
  for (const auto never : {step::claim, step::run, step::run_unguarded, step::forward}) {
    EXPECT_FALSE(leads_around(step::find, never, step::admit)) << name_of(never);
  }
}

TEST(request_flow, the_ways_of_a_first_request_and_of_its_repeats) {
  EXPECT_EQ(after({guarded, done, guarded, unknown, granted, done, done, done}), step::over);
  EXPECT_EQ(after({guarded, done, guarded, known}), step::answer);
  EXPECT_EQ(after({guarded, done, guarded, unknown, known}), step::answer);
  EXPECT_EQ(after({guarded, done, guarded, unknown, fenced, unknown}), step::run);
}

}  // namespace
}  // namespace onceguard::http
