// Points in time as senders write them.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace onceguard::webhook {

/// Seconds since 1970 of "1614265330", or of RFC 3339 in UTC such as "2016-02-18T20:01:35Z" (a
/// fraction is dropped); empty: another text, or a time before 1970.
[[nodiscard]] std::optional<std::int64_t> parse_instant(std::string_view text);

}  // namespace onceguard::webhook
