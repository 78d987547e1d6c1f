// The completion handler of coroutines that nobody waits for and that should throw nothing: what
// one throws all the same leaves the io_context's run().
#pragma once
#include <exception>

namespace onceguard::base {

inline constexpr auto rethrow = [](const std::exception_ptr& thrown) {
  if (thrown) std::rethrow_exception(thrown);
};

}  // namespace onceguard::base
