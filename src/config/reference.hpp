// Writes docs/reference.md from the table of options.
#pragma once
#include <string>

namespace onceguard::config {

/// The whole page, in Markdown.
[[nodiscard]] std::string reference();

}  // namespace onceguard::config
