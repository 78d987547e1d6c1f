// Parameters and results of everything but claims, settles and extensions. An empty result of a
// read function means that another transaction is writing the record, and the question must be
// repeated.
#pragma once
#include <optional>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "store/epoch_metadata.hpp"
#include "store/postgres/parameters.hpp"
#include "store/postgres/rows.hpp"
#include "store/postgres/wire.hpp"

namespace onceguard::postgres {

// The statements about the epoch, for an accelerator: parameters and results.

[[nodiscard]] parameters ask_epoch(const std::string& accelerator);
[[nodiscard]] epoch_reading read_epoch(const rows& rows, const std::string& accelerator);

[[nodiscard]] parameters ask_note(const accelerator_state& found, const std::string& distrusted);
[[nodiscard]] bool read_note(const rows& rows);

[[nodiscard]] parameters ask_resolve(const resolution& request, bool expiry_paused);
[[nodiscard]] std::optional<result<resolve_decision>> read_resolve(const rows& rows);

[[nodiscard]] parameters ask_import(const imported_record& request, bool expiry_paused);
[[nodiscard]] std::optional<result<import_outcome>> read_import(const rows& rows);

[[nodiscard]] parameters ask_find(const record_id& id, bool expiry_paused);
[[nodiscard]] result<std::optional<record_view>> read_find(const rows& rows);

/// The position in the listing that a cursor stands for. The empty cursor is the beginning.
[[nodiscard]] result<std::int64_t> read_cursor(const std::string& cursor);
/// Asks for one more record than `limit`, to learn whether there is a next page.
[[nodiscard]] parameters ask_list(const list_filter& filter, std::int64_t after, std::size_t limit,
                                  bool expiry_paused);
[[nodiscard]] list_page read_list(const rows& rows, const std::string& name);

[[nodiscard]] counts read_counts(const rows& rows);

/// The database refuses if it is an older copy of `expected`.
[[nodiscard]] parameters ask_vitals(const known_generation& expected);
/// The result of onceguard.vitals(); `now` gets the database's clock.
[[nodiscard]] vitals read_vitals(const rows& rows, std::int64_t& now);

}  // namespace onceguard::postgres
