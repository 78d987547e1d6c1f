// The store of the configuration, and what else asks its database.
#pragma once
#include "config/settings.hpp"
#include "reconcile/query/query_source.hpp"
#include "store/late_store.hpp"
#include "store/linked_stores.hpp"

namespace onceguard::config {

/// A room of a store that the room `config` uses (cmake/rooms.ini) is one of them.
[[nodiscard]] inline const store_registry& known_stores() { return linked_stores(); }

/// The configured store, behind the accelerator if one is configured. It is opened in the
/// background if it is out of reach. `settings` must outlive it. Commands don't use the
/// accelerator: a release ends the accelerator's epoch in the database.
[[nodiscard]] result<std::unique_ptr<late_store>> open_store(const settings& settings);

/// The query of [reconcile]; null if none is configured. With `read_only` the server refuses
/// statements that write.
[[nodiscard]] std::unique_ptr<query_source> make_query_source(const settings& settings,
                                                              bool read_only);

}  // namespace onceguard::config
