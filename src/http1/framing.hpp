// The framing of a message: checks a head that llhttp has parsed, and determines body and
// connection from its fields; and the first line of a chunk.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http1/message.hpp"
#include "http1/start_line.hpp"

namespace onceguard::http1 {

/// The kind of request that an answer belongs to, as far as the answer's framing depends on it.
enum class request_kind : std::uint8_t { another, head, connect };

/// Checks the fields of a request and fills in `parsed` from them. `parsed` already has its start
/// line and fields. Empty: no fault.
[[nodiscard]] std::optional<fault> frame_request(head& parsed) noexcept;

/// The same for an answer.
[[nodiscard]] std::optional<fault> frame_answer(head& parsed, request_kind request) noexcept;

/// Checks a chunk's first line without its line end: a size of at most 16 digits, and extensions.
[[nodiscard]] std::optional<fault> check_chunk_line(std::string_view line) noexcept;

}  // namespace onceguard::http1
