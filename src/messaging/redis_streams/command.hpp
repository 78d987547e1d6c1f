// A command for the server, in the form in which it is sent.
#pragma once
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace onceguard::messaging::redis_streams {

class command {
 public:
  command(std::initializer_list<std::string_view> words) {
    for (const auto word : words) add(word);
  }

  command& add(std::string_view word) {
    ++count_;
    words_.append("$").append(std::to_string(word.size())).append("\r\n");
    words_.append(word).append("\r\n");
    return *this;
  }
  command& add(std::integral auto number) { return add(std::to_string(number)); }

  void append_to(std::string& bytes) const {
    bytes.append("*").append(std::to_string(count_)).append("\r\n").append(words_);
  }

 private:
  std::size_t count_ = 0;
  std::string words_;
};

}  // namespace onceguard::messaging::redis_streams
