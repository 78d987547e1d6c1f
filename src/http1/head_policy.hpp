// What a head that llhttp has cut must be like, and what it says about body and connection.
#pragma once
#include <cstdint>
#include <optional>

#include "http1/message.hpp"

namespace onceguard::http1 {

/// What an answer answers, as far as its framing depends on it.
enum class request_kind : std::uint8_t { another, head, connect };

/// Judges the fields of a request and fills in what follows from them. `parsed` has its start line
/// and fields. Nothing where it is fine.
[[nodiscard]] std::optional<fault> check_request(head& parsed) noexcept;

/// The same for an answer.
[[nodiscard]] std::optional<fault> check_answer(head& parsed, request_kind request) noexcept;

/// A chunk's first line without its line end: its size in at most 16 digits, and extensions.
[[nodiscard]] std::optional<fault> check_chunk_line(std::string_view line) noexcept;

}  // namespace onceguard::http1
