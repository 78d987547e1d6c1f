#include "cli/demo/scene.hpp"

#include <algorithm>
#include <utility>

namespace onceguard::cli::demo {

void scene::charged(telling& style, std::size_t count_by_text, std::size_t expected) {
  style.charges = count_by_text;
  style.charges_expected = expected;
  expect(count_by_text == expected, "the shop counted " + std::to_string(count_by_text) +
                                        " charges " + (&style == &with ? "with" : "without") +
                                        " Onceguard, not " + std::to_string(expected));
}

reply saw(telling& style, reply got) {
  style.seen.push_back(got.in_words());
  return got;
}

std::vector<std::string> count_by_text(const std::vector<reply>& replies) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const auto& got : replies) {
    auto words = got.in_words();
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& entry) { return entry.first == words; });
    if (known == counts.end()) {
      counts.emplace_back(std::move(words), 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> out;
  out.reserve(counts.size());
  for (const auto& [words, count] : counts) out.push_back(std::to_string(count) + " × " + words);
  return out;
}

}  // namespace onceguard::cli::demo
