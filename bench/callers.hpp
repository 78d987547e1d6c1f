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

#include "base/hash.hpp"
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
  store& on;
  steady::time_point end;
  answer_ptr kept = make_answer();
  std::vector<claim> completed{};
  std::vector<double> took{};
};

inline boost::asio::awaitable<verdict> claimed(store& on, claim asked) {
  std::vector<claim> claims(1, std::move(asked));
  auto verdicts = co_await on.claim(std::move(claims), patience);
  if (!verdicts[0]) {
    std::fprintf(stderr, "%s\n", verdicts[0].error().detail.c_str());
    std::exit(1);
  }
  co_return std::move(*verdicts[0]);
}

inline boost::asio::awaitable<void> cycle(load& of, const claim& asked) {
  const auto told = co_await claimed(of.on, asked);
  if (told.kind != verdict_kind::run) std::abort();
  std::vector<settlement> settles(1);
  auto& how = settles[0];
  how.id = asked.id;
  how.token = told.lease.token;
  how.claim_id = asked.claim_id;
  how.about = asked.about;
  how.answer = of.kept;
  const auto settled = co_await of.on.settle(std::move(settles), patience);
  if (!settled[0] || settled[0]->outcome != settle_outcome::done) std::abort();
}

inline boost::asio::awaitable<void> complete_until_the_end(load& of) {
  while (steady::now() < of.end) {
    const auto asked = make_claim();
    const auto begin = steady::now();
    co_await cycle(of, asked);
    of.took.push_back(microseconds_since(begin));
  }
}

inline boost::asio::awaitable<void> complete_some(load& of, std::size_t count) {
  for (; count > 0; --count) {
    const auto asked = make_claim();
    co_await cycle(of, asked);
    of.completed.push_back(asked);
  }
}

inline boost::asio::awaitable<void> repeat_until_the_end(load& of, std::size_t first,
                                                         std::size_t step) {
  for (std::size_t i = first; steady::now() < of.end; i += step) {
    auto again = of.completed[i % of.completed.size()];
    base::random_bytes(again.claim_id);
    const auto begin = steady::now();
    const auto told = co_await claimed(of.on, std::move(again));
    if (told.kind != verdict_kind::replay) std::abort();
    of.took.push_back(microseconds_since(begin));
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

inline double median(std::vector<double>& of) {
  if (of.empty()) std::abort();
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

/// What was asked for on the command line, from `begin` on.
inline void print_result(load& of, steady::time_point begin) {
  const double lasted = microseconds_since(begin) * 1e-6;
  std::printf("%.0f per second, %.1f us\n", static_cast<double>(of.took.size()) / lasted,
              median(of.took));
}

}  // namespace onceguard::bench
