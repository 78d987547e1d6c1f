// The records that `execute` keeps among the tables of an application, as operators see them: they
// are listed, settled, exported and imported, with the steps of work in steps. Claims are the
// application's alone.
#pragma once
#include <memory>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "store/sqlite/sqlite_params.hpp"

namespace onceguard::sqlite {

/// False as well for a file that is missing or can't be read.
[[nodiscard]] bool has_application_records(const std::string& path);

/// Its calls block, for `params.timeout` at most while another process writes. The database's own
/// settings stay as they are. errc::invalid_argument: the tables were made by a newer version.
[[nodiscard]] result<std::unique_ptr<store>> open_application_store(const sqlite_params& params);

}  // namespace onceguard::sqlite
