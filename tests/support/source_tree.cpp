#include "support/source_tree.hpp"

namespace onceguard::testing {

std::filesystem::path source_root() { return ONCEGUARD_SOURCE_ROOT; }

}  // namespace onceguard::testing
