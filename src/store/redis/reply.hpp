// A view of a server's reply with checked access: an unexpected form throws.
#pragma once
#include <cstdint>
#include <hiredis/hiredis.h>
#include <hiredis/read.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace onceguard::redis {

/// The reply has a form that neither the protocol nor the scripts have.
class unexpected_reply : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct free_reply {
  void operator()(redisReply* redisReply) const noexcept { freeReplyObject(redisReply); }
};
using reply_ptr = std::unique_ptr<redisReply, free_reply>;

/// A view; the data belong to a reply_ptr.
class reply {
 public:
  explicit reply(const redisReply& parsed) noexcept : of_(&parsed) {}

  [[nodiscard]] bool is_error() const noexcept { return of_->type == REDIS_REPLY_ERROR; }
  [[nodiscard]] bool is_array() const noexcept { return of_->type == REDIS_REPLY_ARRAY; }
  [[nodiscard]] bool is_nil() const noexcept { return of_->type == REDIS_REPLY_NIL; }
  [[nodiscard]] bool is_integer() const noexcept { return of_->type == REDIS_REPLY_INTEGER; }
  [[nodiscard]] std::size_t size() const {
    if (!is_array()) throw unexpected_reply("an array was expected");
    return of_->elements;
  }
  [[nodiscard]] reply at(std::size_t i) const {
    if (i >= size()) throw unexpected_reply("an array that breaks off");
    return reply(*of_->element[i]);
  }
  [[nodiscard]] std::string_view text() const {
    const bool good = of_->type == REDIS_REPLY_STRING || of_->type == REDIS_REPLY_STATUS ||
                      of_->type == REDIS_REPLY_ERROR;
    if (!good) throw unexpected_reply("a text was expected");
    return {of_->str, static_cast<std::size_t>(of_->len)};
  }
  [[nodiscard]] std::int64_t integer() const {
    if (!is_integer()) throw unexpected_reply("an integer was expected");
    return of_->integer;
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
  const redisReply* of_;
};

}  // namespace onceguard::redis
