// onceguard_sim: plays seeds until one fails, and shrinks it.
#include <atomic>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <malloc.h>
#include <string>
#include <thread>
#include <vector>

#include "simulation.hpp"

namespace {

using namespace onceguard::sim;

struct options {
  std::uint64_t first = 1;
  std::uint64_t seeds = 10'000;
  double hours = 0;
  std::uint64_t jobs = 1;
  bool one = false;
  bool trace = false;
  world_kind world = world_kind::engine;
  bool calm = false;  ///< without the seed's disturbances
};

constexpr auto usage =
    "onceguard_sim [--seeds N] [--first SEED] [--hours N] [--jobs N]   so many seeds, or for so "
    "long\n"
    "onceguard_sim --seed SEED [--trace] [--calm]     one seed; with its history; undisturbed\n"
    "each with --world engine|tiered|serve|journal        engine where none is named\n";

/// Of this process, whatever a simulation does to the clocks: none runs while it is asked.
double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

template <class Number>
bool read_number(const char* text, Number& out) {
  const auto* const end = text + std::strlen(text);
  return std::from_chars(text, end, out).ptr == end;
}

bool read_world(std::string_view name, world_kind& out) {
  for (std::size_t i = 0; i < world_kinds; ++i) {
    out = static_cast<world_kind>(i);
    if (name_of(out) == name) return true;
  }
  return false;
}

bool read_options(int count, char** words, options& out) {
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    if (name == "--trace") {
      out.trace = true;
      continue;
    }
    if (name == "--calm") {
      out.calm = true;
      continue;
    }
    if (i + 1 == count) return false;
    const char* const value = words[++i];
    bool right = false;
    if (name == "--seeds") right = read_number(value, out.seeds);
    if (name == "--first") right = read_number(value, out.first);
    if (name == "--jobs") right = read_number(value, out.jobs) && out.jobs > 0;
    if (name == "--hours") right = read_number(value, out.hours) && out.hours > 0;
    if (name == "--world") right = read_world(value, out.world);
    if (name == "--seed") right = out.one = read_number(value, out.first);
    if (!right) return false;
  }
  return true;
}

void print_history(const history& events) {
  for (const auto& each : events.all()) std::printf("%s\n", text_of(each).c_str());
}

void report(const scene& played, const simulated& failed) {
  std::printf("seed %" PRIu64 " fails:\n", played.seed);
  for (const auto& each : failed.violations) {
    std::printf("  %s\n", each.fault.c_str());
    if (each.event < failed.events.all().size()) {
      std::printf("    at %s\n", text_of(failed.events.all()[each.event]).c_str());
    }
  }
  const auto fewest = shrink(played);
  std::printf("what has to go wrong for that, of %zu disturbances:\n", played.disturbances.size());
  for (const auto& each : fewest) std::printf("  %s\n", text_of(each).c_str());
  std::printf("with these alone:\n");
  for (const auto& each : play(played, fewest).violations)
    std::printf("  %s\n", each.fault.c_str());
  std::printf("to see it again: ./dev simulate --world %s --seed %" PRIu64 " --trace\n",
              std::string(name_of(played.kind)).c_str(), played.seed);
}

int play_one(const options& given) {
  scene played(given.first, given.world);
  if (given.calm) played.disturbances.clear();
  const auto shown = play(played, played.disturbances);
  if (given.trace) print_history(shown.events);
  std::printf("seed %" PRIu64 ": %zu events, %" PRIu64 " handlers, digest %016" PRIx64 "\n",
              given.first, shown.events.all().size(), shown.handlers, shown.events.digest());
  if (shown.violations.empty()) return 0;
  report(played, shown);
  return 1;
}

/// What the threads share that play seeds.
struct shared_run {
  explicit shared_run(const options& options) : given(options), next(options.first) {}
  const options& given;
  const double begin = seconds_now();
  std::atomic<std::uint64_t> next;
  std::atomic<std::uint64_t> played{0};
  std::atomic<std::uint64_t> handlers{0};
  std::atomic<std::uint64_t> digests{0};  ///< of all histories, in any order
  std::atomic<std::uint64_t> failed{0};   ///< a seed; 0: none
};

void play_on(shared_run& run) {
  const double end = run.begin + run.given.hours * 3'600;
  while (run.failed == 0 && (run.given.hours <= 0 || seconds_now() < end)) {
    const auto seed = run.next++;
    if (run.given.hours <= 0 && seed - run.given.first >= run.given.seeds) return;
    const scene next(seed, run.given.world);
    const auto shown = play(next, next.disturbances);
    run.handlers += shown.handlers;
    run.digests ^= shown.events.digest();
    const auto count = ++run.played;
    if (count % 100'000 == 0) {
      std::printf("%" PRIu64 " seeds, %.0f s\n", count, seconds_now() - run.begin);
      std::fflush(stdout);
    }
    if (!shown.violations.empty()) run.failed = seed;
  }
}

int play_many(const options& given) {
  shared_run run(given);
  std::vector<std::thread> workers;
  for (std::uint64_t i = 1; i < given.jobs; ++i) workers.emplace_back([&run] { play_on(run); });
  play_on(run);
  for (auto& each : workers) each.join();
  if (run.failed != 0) {
    const scene wrong(run.failed, given.world);
    std::printf("after %" PRIu64 " seeds, ", run.played.load());
    report(wrong, play(wrong, wrong.disturbances));
    return 1;
  }
  const double seconds = seconds_now() - run.begin;
  const auto count = static_cast<double>(run.played);
  std::printf("%" PRIu64 " seeds from %" PRIu64
              " on without a violation: %.1f s, %.0f us a seed, "
              "%.0f steps each, digest %016" PRIx64 "\n",
              run.played.load(), given.first, seconds, seconds * 1e6 / count,
              static_cast<double>(run.handlers) / count, run.digests.load());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  options given;
  if (!read_options(count, words, given)) {
    std::fputs(usage, stderr);
    return 2;
  }
  // Each seed makes and ends the same few large tables: the system need not hand them out anew.
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
  return given.one ? play_one(given) : play_many(given);
}
