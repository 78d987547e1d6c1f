// Waiting on a thread for a time, or until a stop is requested.
#pragma once
#include <chrono>
#include <stop_token>

namespace onceguard::base {

/// Waits on the calling thread. False: a stop was requested, before or meanwhile.
bool wait_unless(const std::stop_token& stop, std::chrono::milliseconds time);

}  // namespace onceguard::base
