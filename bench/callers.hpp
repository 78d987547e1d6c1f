// Callers of a store that go on until a moment, and how long each thing took them.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/store.hpp>

#include "base/random.hpp"
#include "sample.hpp"

namespace onceguard::bench {

using steady = std::chrono::steady_clock;

inline constexpr milliseconds patience{10'000};
inline constexpr std::size_t replayed_keys = 1'024;

inline double microseconds_since(steady::time_point begin) {
  return std::chrono::duration<double, std::micro>(steady::now() - begin).count();
}

/// What all callers share. They go on until `end`.
struct load {
  store& target;
  steady::time_point end;
  answer_ptr kept = make_answer();
  std::vector<claim> completed{};
  std::vector<double> took{};
};

inline boost::asio::awaitable<verdict> claimed(store& records, claim request) {
  std::vector<claim> claims(1, std::move(request));
  auto verdicts = co_await records.claim(std::move(claims), patience);
  if (!verdicts[0]) {
    std::fprintf(stderr, "%s\n", verdicts[0].error().detail.c_str());
    std::exit(1);
  }
  co_return std::move(*verdicts[0]);
}

inline boost::asio::awaitable<void> cycle(load& load, const claim& request) {
  const auto reply = co_await claimed(load.target, request);
  if (reply.kind != verdict_kind::run) std::abort();
  std::vector<settlement> settles(1);
  auto& change = settles[0];
  change.id = request.id;
  change.token = reply.lease.token;
  change.claim_id = request.claim_id;
  change.about = request.about;
  change.answer = load.kept;
  const auto settled = co_await load.target.settle(std::move(settles), patience);
  if (!settled[0] || settled[0]->outcome != settle_outcome::done) std::abort();
}

inline boost::asio::awaitable<void> complete_until_the_end(load& load) {
  while (steady::now() < load.end) {
    const auto request = make_claim();
    const auto begin = steady::now();
    co_await cycle(load, request);
    load.took.push_back(microseconds_since(begin));
  }
}

inline boost::asio::awaitable<void> complete_some(load& load, std::size_t count) {
  for (; count > 0; --count) {
    const auto request = make_claim();
    co_await cycle(load, request);
    load.completed.push_back(request);
  }
}

inline boost::asio::awaitable<void> repeat_until_the_end(load& load, std::size_t first,
                                                         std::size_t step) {
  for (std::size_t i = first; steady::now() < load.end; i += step) {
    auto again = load.completed[i % load.completed.size()];
    base::random_bytes(again.claim_id);
    const auto begin = steady::now();
    const auto reply = co_await claimed(load.target, std::move(again));
    if (reply.kind != verdict_kind::replay) std::abort();
    load.took.push_back(microseconds_since(begin));
  }
}

/// Runs one coroutine for each caller until all are through.
template <class Begin>
void run_callers(std::size_t callers, Begin begin) {
  boost::asio::io_context context;
  const auto rethrow = [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  };
  for (std::size_t i = 0; i < callers; ++i) {
    boost::asio::co_spawn(context, begin(i), rethrow);
  }
  context.run();
}

inline double median(std::vector<double>& items) {
  if (items.empty()) std::abort();
  const auto middle = items.begin() + static_cast<std::ptrdiff_t>(items.size() / 2);
  std::nth_element(items.begin(), middle, items.end());
  return *middle;
}

/// What was asked for on the command line, from `begin` on.
inline void print_result(load& load, steady::time_point begin) {
  const double lasted = microseconds_since(begin) * 1e-6;
  std::printf("%.0f per second, %.1f us\n", static_cast<double>(load.took.size()) / lasted,
              median(load.took));
}

}  // namespace onceguard::bench
