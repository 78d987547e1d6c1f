// Looks at a journal without using it.
#pragma once
#include <string>

#include <onceguard/error.hpp>

#include "base/diagnosis.hpp"
#include "store/journal/journal_params.hpp"

namespace onceguard::journal {

/// What `onceguard doctor` finds out about the folder. Makes none.
[[nodiscard]] base::diagnoses examine(const journal_params& params, milliseconds timeout);

}  // namespace onceguard::journal
