// Commands in Redis's protocol (RESP), appended to the outgoing bytes.
#pragma once
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace onceguard::redis {

/// A number as a word of a command.
class decimal {
 public:
  template <class Integer>
  explicit decimal(Integer value) noexcept {
    const auto end = std::to_chars(text_.data(), text_.data() + text_.size(), value);
    size_ = static_cast<std::size_t>(end.ptr - text_.data());
  }
  operator std::string_view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 24> text_;
  std::size_t size_;
};

/// A word of that size, which `append` adds.
template <class Append>
void append_word(std::string& text, std::size_t size, Append append) {
  text.append("$").append(decimal(size)).append("\r\n");
  append();
  text.append("\r\n");
}

inline void append_word(std::string& text, std::string_view word) {
  append_word(text, word.size(), [&] { text.append(word); });
}

inline void append_count(std::string& text, std::size_t words) {
  text.append("*").append(decimal(words)).append("\r\n");
}

inline void append_command(std::string& text, std::initializer_list<std::string_view> words) {
  append_count(text, words.size());
  for (const auto word : words) append_word(text, word);
}

}  // namespace onceguard::redis
