// The connection of `onceguard migrate`. It blocks, because nothing else runs meanwhile.
#pragma once
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "store/postgres/schema.hpp"

namespace onceguard::postgres {

/// Connects to the database of `url` and brings its schema to this version's. Blocks; `timeout`
/// bounds the connecting only, as an index on a large table takes its time. Errors are those of
/// `migrate`, errc::invalid_argument (the URL) and errc::store_unreachable; none repeats the URL.
[[nodiscard]] result<migrated> migrate_database(const std::string& url, milliseconds timeout,
                                                const migration_params& params);

}  // namespace onceguard::postgres
