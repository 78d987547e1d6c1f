// The place that the JSON readers share while they go through one text.
#pragma once
#include <cstddef>
#include <string_view>

namespace onceguard::core {

/// Where a reader is, and the first fault that it met. Readers return false after `fail`.
struct json_cursor {
  std::string_view text;
  std::size_t at = 0;
  const char* fault = nullptr;  ///< a literal; null: none so far

  [[nodiscard]] bool at_end() const noexcept { return at == text.size(); }
  /// The next byte, or NUL at the end: no token of JSON begins with one.
  [[nodiscard]] char peek() const noexcept { return at_end() ? '\0' : text[at]; }
  [[nodiscard]] std::string_view rest() const noexcept { return text.substr(at); }

  bool fail(const char* description) noexcept {
    fault = description;
    return false;
  }

  void skip_space() noexcept {
    while (!at_end()) {
      const char c = text[at];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
      ++at;
    }
  }
};

}  // namespace onceguard::core
