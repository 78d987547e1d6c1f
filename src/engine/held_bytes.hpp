// Estimates of the memory that answers, subjects and settlements use, for memory limits.
#pragma once
#include <cstddef>

#include <onceguard/decide.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

[[nodiscard]] inline std::size_t bytes_of(const answer& stored_answer) {
  std::size_t bytes = sizeof(answer) + stored_answer.body.size();
  for (const auto& [name, value] : stored_answer.headers) bytes += 64 + name.size() + value.size();
  return bytes;
}

[[nodiscard]] inline std::size_t bytes_of(const subject& about) {
  return sizeof(subject) + about.scope_kind.size() + about.key.size() + about.method.size() +
         about.path.size() + about.route.size() + about.print.method.size();
}

/// Includes the shared parts: the answer and the subject.
[[nodiscard]] inline std::size_t bytes_of(const settlement& request) {
  std::size_t bytes = sizeof(settlement);
  if (request.answer) bytes += bytes_of(*request.answer);
  if (request.about) bytes += bytes_of(*request.about);
  return bytes;
}

}  // namespace onceguard
