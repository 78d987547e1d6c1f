// A connection on which a test speaks to Redis, apart from the store that it tests.
#pragma once
#include <cstdint>
#include <hiredis/hiredis.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace onceguard::testing {

/// Blocks. What the server refuses is thrown.
class redis_session {
 public:
  explicit redis_session(int port) : on_(redisConnect("127.0.0.1", port), redisFree) {
    if (!on_ || on_->err != 0) throw std::runtime_error("no connection to the Redis server");
  }

  /// The reply as text; of an array, its last element.
  std::string run(const std::vector<std::string>& words) { return text_of(*ask(words)); }
  /// An array, each element as text.
  std::vector<std::string> list(const std::vector<std::string>& words) {
    const auto got = ask(words);
    std::vector<std::string> out;
    for (std::size_t i = 0; i < got->elements; ++i) out.push_back(text_of(*got->element[i]));
    return out;
  }

 private:
  using reply = std::unique_ptr<redisReply, void (*)(void*)>;

  reply ask(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) texts.push_back(word.data()), sizes.push_back(word.size());
    reply got(static_cast<redisReply*>(redisCommandArgv(on_.get(), static_cast<int>(words.size()),
                                                        texts.data(), sizes.data())),
              freeReplyObject);
    if (!got) throw std::runtime_error("the connection to the Redis server broke");
    if (got->type == REDIS_REPLY_ERROR) throw std::runtime_error(text_of(*got));
    return got;
  }

  static std::string text_of(const redisReply& redisReply) {
    switch (redisReply.type) {
      case REDIS_REPLY_INTEGER:
        return std::to_string(redisReply.integer);
      case REDIS_REPLY_NIL:
        return "";
      case REDIS_REPLY_ARRAY:
        return redisReply.elements == 0 ? ""
                                        : text_of(*redisReply.element[redisReply.elements - 1]);
      default:
        return {redisReply.str, static_cast<std::size_t>(redisReply.len)};
    }
  }

  std::unique_ptr<redisContext, void (*)(redisContext*)> on_;
};

}  // namespace onceguard::testing
