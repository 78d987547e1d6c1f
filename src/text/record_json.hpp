// A record as JSON: the form of `--json` and of the admin API.
#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <onceguard/store.hpp>

namespace onceguard {

/// Lists leave out the answer's headers and body. A body that is not at hand is left out, too: then
/// `body_size` alone tells of it.
[[nodiscard]] nlohmann::ordered_json record_json(const record_view& seen, bool with_body);
/// An unreadable record, in the same form.
[[nodiscard]] nlohmann::ordered_json record_json(const unreadable_record& seen);
/// Reads what record_json() made of a record. Without a body, its size is still there.
/// errc::record_unreadable: it is no such object; the detail says why.
[[nodiscard]] result<record_view> read_record(const nlohmann::ordered_json& object);
/// JSON on one line.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& value);

}  // namespace onceguard
