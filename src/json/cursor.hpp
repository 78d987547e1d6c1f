// The position that the JSON readers share while they read one text.
#pragma once
#include <cstddef>
#include <string_view>

namespace onceguard::core {

/// The position of a reader and the first fault found. Readers return false after `fail`.
struct json_cursor {
  std::string_view text;
  std::size_t position = 0;
  const char* fault = nullptr;  ///< a string literal; null: no fault so far

  [[nodiscard]] bool at_end() const noexcept { return position == text.size(); }
  /// The next byte, or NUL at the end. No JSON token begins with NUL.
  [[nodiscard]] char peek() const noexcept { return at_end() ? '\0' : text[position]; }
  [[nodiscard]] std::string_view rest() const noexcept { return text.substr(position); }

  bool fail(const char* description) noexcept {
    fault = description;
    return false;
  }

  void skip_space() noexcept {
    while (!at_end()) {
      const char c = text[position];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
      ++position;
    }
  }
};

}  // namespace onceguard::core
