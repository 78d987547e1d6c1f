// How long a store takes to list what needs a person, as a call of the store:
//   list_bench URL ROUNDS [PAUSE_MS]
// Prints how many were listed, and the median and the longest time of a list, in milliseconds.
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include "callers.hpp"
#include "config/stores.hpp"

namespace {

using namespace onceguard;
using namespace onceguard::bench;

constexpr std::size_t page_size = 1'000;

struct lists {
  std::size_t found = 0;       ///< in the last list
  std::vector<double> took{};  ///< in milliseconds
};

boost::asio::awaitable<void> list_once(store& records, lists& out) {
  list_filter filter;
  filter.needs_person = true;
  std::string cursor;
  out.found = 0;
  const auto begin = steady::now();
  do {
    auto page = co_await records.list(filter, std::move(cursor), page_size, patience);
    if (!page) {
      std::fprintf(stderr, "%s\n", page.error().detail.c_str());
      std::exit(1);
    }
    out.found += page->records.size() + page->unreadable.size();
    cursor = std::move(page->cursor);
  } while (!cursor.empty());
  out.took.push_back(microseconds_since(begin) * 1e-3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "list_bench URL ROUNDS [PAUSE_MS]\n");
    return 2;
  }
  store_params params;
  params.url = argv[1];
  params.timeout = patience;
  auto opened = config::known_stores().open(params);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().detail.c_str());
    return 1;
  }
  const milliseconds pause(argc == 4 ? std::stol(argv[3]) : 0);
  lists out;
  for (auto left = std::stoul(argv[2]); left > 0; --left) {
    run_callers(1, [&](std::size_t) { return list_once(**opened, out); });
    std::this_thread::sleep_for(pause);
  }
  const auto longest = *std::max_element(out.took.begin(), out.took.end());
  std::printf("%zu %.2f %.2f\n", out.found, median(out.took), longest);
  (*opened)->stop();
  return 0;
}
