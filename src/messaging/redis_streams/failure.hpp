// What ends a call early: inside the room it is thrown, outside it is a value.
#pragma once
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <onceguard/error.hpp>

namespace onceguard::messaging::redis_streams {

struct failed {
  error why;
};

/// What a server's error reply means. `name` is the stream's, for people.
[[nodiscard]] error refusal(const std::string& name, std::string_view reply);

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

}  // namespace onceguard::messaging::redis_streams
