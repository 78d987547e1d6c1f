// What ends a call early: inside a room it is thrown, outside it is a value.
#pragma once
#include <type_traits>
#include <utility>

#include <onceguard/error.hpp>

namespace onceguard::messaging {

struct failed {
  error why;
};

/// What was got, or its error thrown.
template <class T>
[[nodiscard]] T value_of(result<T> got) {
  if (!got) throw failed{std::move(got.error())};
  return *std::move(got);
}

/// Throws the error of what was done.
inline void require(const result<void>& done) {
  if (!done) throw failed{done.error()};
}

/// The result of the work, or the error that it threw.
template <class Work>
[[nodiscard]] auto caught(Work work) -> result<std::invoke_result_t<Work>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (failed& found) {
    return std::move(found.why);
  }
}

}  // namespace onceguard::messaging
