// The cost of guard::execute on the memory store, beside a mutex and a map that do the least of it.
// Google Benchmark; run by `./dev bench library`.
#include <atomic>
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include <onceguard/guard.hpp>

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

// NOLINTBEGIN(cert-dcl54-cpp,misc-new-delete-overloads): counted, all of them
void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* made = std::malloc(size)) return made;
  throw std::bad_alloc();
}
void operator delete(void* made) noexcept { std::free(made); }
void operator delete(void* made, std::size_t) noexcept { std::free(made); }
// NOLINTEND(cert-dcl54-cpp,misc-new-delete-overloads)

namespace {

std::string work(std::uint64_t number) { return "charge " + std::to_string(number); }

class allocation_counter {
 public:
  explicit allocation_counter(benchmark::State& state) : state_(state) {}
  ~allocation_counter() {
    const auto made = allocations.load() - begin_;
    state_.counters["allocations"] =
        static_cast<double>(made) / static_cast<double>(state_.iterations());
  }

 private:
  benchmark::State& state_;
  const std::uint64_t begin_ = allocations.load();
};

void bare_handler(benchmark::State& state) {
  std::uint64_t number = 0;
  const allocation_counter counted(state);
  for (auto _ : state) benchmark::DoNotOptimize(work(++number));
}

/// What people write first: no lease, no fingerprint, no retention, no crash in mind.
void map_first(benchmark::State& state) {
  std::mutex mutex;
  std::unordered_map<std::string, std::string> answers;
  std::uint64_t number = 0;
  const allocation_counter counted(state);
  for (auto _ : state) {
    const auto key = std::to_string(++number);
    {
      const std::lock_guard lock(mutex);
      if (answers.contains(key)) continue;
    }
    auto made = work(number);
    const std::lock_guard lock(mutex);
    benchmark::DoNotOptimize(answers.emplace(key, std::move(made)));
  }
}

void map_replay(benchmark::State& state) {
  std::mutex mutex;
  std::unordered_map<std::string, std::string> answers{{"1", work(1)}};
  const allocation_counter counted(state);
  for (auto _ : state) {
    const std::lock_guard lock(mutex);
    std::string answer = answers.find("1")->second;
    benchmark::DoNotOptimize(answer);
  }
}

onceguard::guard open_guard() { return onceguard::guard::open("memory:").value(); }

void execute_first(benchmark::State& state) {
  auto guard = open_guard();
  std::uint64_t number = 0;
  const allocation_counter counted(state);
  for (auto _ : state) {
    ++number;
    auto got = guard.execute({"tenant", std::to_string(number)}, [&] { return work(number); });
    benchmark::DoNotOptimize(got);
  }
}

void execute_replay(benchmark::State& state) {
  auto guard = open_guard();
  const onceguard::request once{"tenant", "1"};
  (void)guard.execute(once, [] { return work(1); });
  const allocation_counter counted(state);
  for (auto _ : state) {
    auto got = guard.execute(once, [] { return work(2); });
    benchmark::DoNotOptimize(got);
  }
}

BENCHMARK(bare_handler);
BENCHMARK(map_first)->Iterations(200'000);
BENCHMARK(execute_first)->Iterations(200'000);
BENCHMARK(map_replay);
BENCHMARK(execute_replay);

}  // namespace

BENCHMARK_MAIN();
