// Redis's protocol (RESP): commands, appended to the outgoing bytes, and replies with checked
// access.
#pragma once
#include <array>
#include <charconv>
#include <cstdint>
#include <hiredis/hiredis.h>
#include <hiredis/read.h>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/unique_handle.hpp"
#include "store/redis/transport/failure.hpp"

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

inline void append_word(std::string& text, std::string_view word) {
  text.append("$").append(decimal(word.size())).append("\r\n").append(word).append("\r\n");
}

inline void append_count(std::string& text, std::size_t words) {
  text.append("*").append(decimal(words)).append("\r\n");
}

inline void append_command(std::string& text, std::initializer_list<std::string_view> words) {
  append_count(text, words.size());
  for (const auto word : words) append_word(text, word);
}

/// Makes a command. Not an initializer list, because gcc 12 can't keep one across a suspension.
template <class... Word>
std::string words(const Word&... each) {
  std::string out;
  append_command(out, {std::string_view(each)...});
  return out;
}

// --- replies --------------------------------------------------------------------------------

/// The reply has a form that neither the protocol nor the scripts have.
struct unexpected_reply : broken {
  explicit unexpected_reply(std::string text) : broken{connection_failure(std::move(text))} {}
};

using reply_ptr = base::unique_handle<redisReply, freeReplyObject>;

/// A view; the data belong to a reply_ptr.
class reply {
 public:
  explicit reply(const redisReply& parsed) noexcept : parsed_(&parsed) {}

  [[nodiscard]] bool is_error() const noexcept { return parsed_->type == REDIS_REPLY_ERROR; }
  [[nodiscard]] bool is_array() const noexcept { return parsed_->type == REDIS_REPLY_ARRAY; }
  [[nodiscard]] bool is_nil() const noexcept { return parsed_->type == REDIS_REPLY_NIL; }
  [[nodiscard]] bool is_integer() const noexcept { return parsed_->type == REDIS_REPLY_INTEGER; }
  [[nodiscard]] std::size_t size() const {
    if (!is_array()) throw unexpected_reply("an array was expected");
    return parsed_->elements;
  }
  [[nodiscard]] reply at(std::size_t i) const {
    if (i >= size()) throw unexpected_reply("an array that breaks off");
    return reply(*parsed_->element[i]);
  }
  [[nodiscard]] std::string_view text() const {
    const bool good = parsed_->type == REDIS_REPLY_STRING || parsed_->type == REDIS_REPLY_STATUS ||
                      parsed_->type == REDIS_REPLY_ERROR;
    if (!good) throw unexpected_reply("a text was expected");
    return {parsed_->str, static_cast<std::size_t>(parsed_->len)};
  }
  [[nodiscard]] std::int64_t integer() const {
    if (!is_integer()) throw unexpected_reply("an integer was expected");
    return parsed_->integer;
  }
  /// An integer from 0 to `most`.
  template <class Number>
  [[nodiscard]] Number number(std::uint64_t most) const {
    const auto value = integer();
    if (value < 0 || static_cast<std::uint64_t>(value) > most) {
      throw unexpected_reply("an integer out of its bounds");
    }
    return static_cast<Number>(value);
  }

 private:
  const redisReply* parsed_;
};

}  // namespace onceguard::redis
