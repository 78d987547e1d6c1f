// What ends a call early: inside the room it is thrown, outside it is a value.
#pragma once
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <onceguard/error.hpp>

namespace onceguard::messaging::sqs {

struct failed {
  error why;
};

/// May the same request succeed a moment later? `code`: as of refusal().
[[nodiscard]] bool is_passing(long status, std::string_view code) noexcept;

/// What it means that the server refuses. `code` is the name that Amazon gives to the error,
/// `words` are for people.
[[nodiscard]] error refusal(const std::string& name, long status, std::string_view code,
                            std::string_view words);

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

}  // namespace onceguard::messaging::sqs
