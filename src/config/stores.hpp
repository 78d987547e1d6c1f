// The stores that this program was built with.
#pragma once
#include "config/settings.hpp"
#include "store/open.hpp"

namespace onceguard::config {

[[nodiscard]] const store_registry& known_stores();

/// The store of the settings, behind the accelerator where there is one. Commands do without: a
/// release ends the accelerator's epoch in the database.
[[nodiscard]] result<std::unique_ptr<store>> open_store(const settings& settings);

}  // namespace onceguard::config
