// Replies of the server, with checked access.
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiredis/hiredis.h>
#include <string>
#include <string_view>

#include "base/unique_handle.hpp"
#include "messaging/redis_streams/failure.hpp"

namespace onceguard::messaging::redis_streams {

using reply_ptr = base::unique_handle<redisReply, freeReplyObject>;

/// A view; the data belong to a reply_ptr. What has another form than expected throws `failed`: the
/// server is none that this room knows.
class reply {
 public:
  explicit reply(const redisReply& parsed) noexcept : parsed_(&parsed) {}

  [[nodiscard]] bool is_nil() const noexcept { return parsed_->type == REDIS_REPLY_NIL; }
  [[nodiscard]] bool is_integer() const noexcept { return parsed_->type == REDIS_REPLY_INTEGER; }
  [[nodiscard]] std::size_t size() const {
    if (parsed_->type != REDIS_REPLY_ARRAY) refuse("an array");
    return parsed_->elements;
  }
  [[nodiscard]] reply at(std::size_t i) const {
    if (i >= size()) refuse("a longer array");
    return reply(*parsed_->element[i]);
  }
  [[nodiscard]] std::string_view text() const {
    if (parsed_->type != REDIS_REPLY_STRING && parsed_->type != REDIS_REPLY_STATUS) {
      refuse("a text");
    }
    return {parsed_->str, static_cast<std::size_t>(parsed_->len)};
  }
  [[nodiscard]] std::int64_t integer() const {
    if (!is_integer()) refuse("an integer");
    return parsed_->integer;
  }

 private:
  [[noreturn]] static void refuse(const char* expected) {
    throw failed{error(errc::broker_unreachable,
                       std::string("the server's reply is none of Redis: expected ") + expected,
                       effect::unknown)};
  }

  const redisReply* parsed_;
};

}  // namespace onceguard::messaging::redis_streams
