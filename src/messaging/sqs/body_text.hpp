// Which bytes a queue of Amazon SQS takes as a text.
#pragma once
#include <string_view>

namespace onceguard::messaging::sqs {

/// Is it UTF-8, of nothing but characters of XML 1.0? Of others Amazon takes no message, or
/// replaces them.
[[nodiscard]] bool is_plain_text(std::string_view bytes) noexcept;

}  // namespace onceguard::messaging::sqs
