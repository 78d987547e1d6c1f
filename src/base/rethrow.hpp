// A completion handler for coroutines that are not awaited and should not throw. An exception that
// such a coroutine throws nevertheless leaves the io_context's run().
#pragma once
#include <exception>

namespace onceguard::base {

inline constexpr auto rethrow = [](const std::exception_ptr& thrown) {
  if (thrown) std::rethrow_exception(thrown);
};

}  // namespace onceguard::base
