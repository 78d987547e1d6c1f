// What an upstream's answers to harmless requests say about it. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnosis.hpp"
#include "cli/diagnose/upstream_poll.hpp"

namespace onceguard::cli::diagnose {

/// One finding for each thing that was found, the worst place of it; and what was looked at.
[[nodiscard]] base::diagnoses examine_answers(const upstream_poll& seen,
                                              gateway::empty_framing empty_body);

}  // namespace onceguard::cli::diagnose
