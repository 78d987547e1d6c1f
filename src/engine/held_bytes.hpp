// What things take in memory, about: for limits on it.
#pragma once
#include <cstddef>

#include <onceguard/decide.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

[[nodiscard]] inline std::size_t bytes_of(const answer& what) {
  std::size_t bytes = sizeof(answer) + what.body.size();
  for (const auto& [name, value] : what.headers) bytes += 64 + name.size() + value.size();
  return bytes;
}

[[nodiscard]] inline std::size_t bytes_of(const subject& what) {
  return sizeof(subject) + what.scope_kind.size() + what.key.size() + what.method.size() +
         what.path.size() + what.route.size() + what.print.method.size();
}

/// With what it shares: its answer, and what it is about.
[[nodiscard]] inline std::size_t bytes_of(const settlement& what) {
  std::size_t bytes = sizeof(settlement);
  if (what.answer) bytes += bytes_of(*what.answer);
  if (what.about) bytes += bytes_of(*what.about);
  return bytes;
}

}  // namespace onceguard
