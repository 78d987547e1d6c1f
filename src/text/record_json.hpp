// A record as JSON: the form of `--json` and of the admin API.
#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <onceguard/store.hpp>

namespace onceguard {

/// Lists leave out the answer's body.
[[nodiscard]] nlohmann::ordered_json record_json(const record_view& seen, bool with_body);
/// An unreadable record, in the same form.
[[nodiscard]] nlohmann::ordered_json record_json(const unreadable_record& seen);
/// JSON on one line.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& value);

}  // namespace onceguard
