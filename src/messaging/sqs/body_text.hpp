// Bytes as the texts that a queue of Amazon SQS takes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::messaging::sqs {

/// Is it UTF-8, of nothing but characters of XML 1.0? Of others Amazon takes no message, or
/// replaces them.
[[nodiscard]] bool is_plain_text(std::string_view bytes) noexcept;

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// nullopt: it is no base64 with its padding.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace onceguard::messaging::sqs
