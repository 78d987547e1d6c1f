// The statements about the epoch, for an accelerator: parameters and results.
#pragma once
#include "store/epoch_metadata.hpp"
#include "store/postgres/parameters.hpp"
#include "store/postgres/rows.hpp"

namespace onceguard::postgres {

[[nodiscard]] parameters ask_epoch(const std::string& accelerator);
[[nodiscard]] epoch_reading read_epoch(const rows& rows, const std::string& accelerator);

[[nodiscard]] parameters ask_note(const accelerator_state& found, const std::string& distrusted);
[[nodiscard]] bool read_note(const rows& rows);

}  // namespace onceguard::postgres
