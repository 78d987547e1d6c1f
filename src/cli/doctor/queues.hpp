// Examines the queues of `onceguard consume`, without a delivery of their messages.
#pragma once
#include "base/diagnosis.hpp"
#include "consume/consume_params.hpp"

namespace onceguard::cli {

/// Whether the queue is there, and whether its broker delivers a message as often as the attempts
/// need, and keeps it for as long.
[[nodiscard]] base::diagnoses examine_consumer(const consume::consume_params& params);

}  // namespace onceguard::cli
