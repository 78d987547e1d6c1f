// The completion handler of coroutines that nobody waits for: a fault ends the demo.
#pragma once
#include <exception>

namespace onceguard::cli::demo {

inline constexpr auto rethrow = [](const std::exception_ptr& fault) {
  if (fault) std::rethrow_exception(fault);
};

}  // namespace onceguard::cli::demo
