// Several who ask for one operation in one process, where the first one runs.
#pragma once
#include <vector>

#include "engine/engine_fixture.hpp"

namespace onceguard {

/// Those who wait for a twin in their own process, and never look by themselves.
class twin : public engine_over_faults {
 protected:
  static constexpr milliseconds hour{3'600'000};
  counted_work first;
  counted_work second;
  std::vector<outcome> out;

  void SetUp() override {
    params.twin_poll = hour;
    engine_over_faults::SetUp();
    policy.on_busy = on_busy_rule::wait;
    policy.wait = hour;
  }
  void gather(std::size_t many) {
    const auto busy = tested->counters().busy.load();
    for (std::size_t i = 0; i < many; ++i) {
      asio::co_spawn(io, operate(*tested, io, op(), second),
                     [this](std::exception_ptr, outcome got) { out.push_back(std::move(got)); });
    }
    // Each hears "busy" when it comes, and the first in the line once more when it has its place.
    until([&] { return tested->counters().busy > busy + many; });
    io.poll();
  }
  void expect_all(std::size_t many, outcome_kind outcome_kind) {
    until([&] { return out.size() == many; });
    for (const auto& got : out) EXPECT_EQ(got.kind, outcome_kind);
  }
};

}  // namespace onceguard
