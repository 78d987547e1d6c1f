// onceguard_sim: plays seeds until one fails, and shrinks it.
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <malloc.h>
#include <string>

#include "simulation.hpp"

namespace {

using namespace onceguard::sim;

struct options {
  std::uint64_t first = 1;
  std::uint64_t seeds = 10'000;
  double hours = 0;
  bool one = false;
  bool trace = false;
};

constexpr auto usage =
    "onceguard_sim [--seeds N] [--first SEED] [--hours N]   plays so many seeds, or for so long\n"
    "onceguard_sim --seed SEED [--trace]                    plays one seed; with its history\n";

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

bool read_options(int count, char** words, options& out) {
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    if (name == "--trace") {
      out.trace = true;
      continue;
    }
    if (i + 1 == count) return false;
    const char* const value = words[++i];
    bool right = false;
    if (name == "--seeds") right = read_number(value, out.seeds);
    if (name == "--first") right = read_number(value, out.first);
    if (name == "--hours") right = read_number(value, out.hours) && out.hours > 0;
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
    std::printf("  %s\n", each.what.c_str());
    if (each.event < failed.events.all().size()) {
      std::printf("    at %s\n", text_of(failed.events.all()[each.event]).c_str());
    }
  }
  const auto fewest = shrink(played);
  std::printf("what has to go wrong for that, of %zu disturbances:\n", played.disturbances.size());
  for (const auto& each : fewest) std::printf("  %s\n", text_of(each).c_str());
  std::printf("with these alone:\n");
  for (const auto& each : play(played, fewest).violations) std::printf("  %s\n", each.what.c_str());
  std::printf("to see it again: ./dev simulate --seed %" PRIu64 " --trace\n", played.seed);
}

int play_one(const options& given) {
  const scene played(given.first);
  const auto shown = play(played, played.disturbances);
  if (given.trace) print_history(shown.events);
  std::printf("seed %" PRIu64 ": %zu events, %" PRIu64 " handlers, digest %016" PRIx64 "\n",
              given.first, shown.events.all().size(), shown.handlers, shown.events.digest());
  if (shown.violations.empty()) return 0;
  report(played, shown);
  return 1;
}

int play_many(const options& given) {
  const double begin = seconds_now();
  const double end = begin + given.hours * 3'600;
  std::uint64_t played = 0, handlers = 0;
  double told = begin;
  for (auto seed = given.first; given.hours > 0 || played < given.seeds; ++seed, ++played) {
    const auto now = seconds_now();
    if (given.hours > 0 && now >= end) break;
    if (now - told > 60) {
      told = now;
      std::printf("%" PRIu64 " seeds, %.0f s\n", played, now - begin);
      std::fflush(stdout);
    }
    const scene next(seed);
    const auto shown = play(next, next.disturbances);
    handlers += shown.handlers;
    if (shown.violations.empty()) continue;
    report(next, shown);
    return 1;
  }
  const double seconds = seconds_now() - begin;
  std::printf("%" PRIu64 " seeds from %" PRIu64 " on without a violation: %.1f s, %.0f us a seed, "
              "%.2f us a step\n",
              played, given.first, seconds, seconds * 1e6 / static_cast<double>(played),
              seconds * 1e6 / static_cast<double>(handlers));
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
