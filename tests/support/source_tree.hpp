// Where the sources of this build lie. __FILE__ does not say so: a compiler's cache shortens names.
#pragma once
#include <filesystem>

namespace onceguard::testing {

/// The folder that has `tests` and `docs`.
[[nodiscard]] std::filesystem::path source_root();

}  // namespace onceguard::testing
