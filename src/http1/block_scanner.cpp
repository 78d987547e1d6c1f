#include "http1/block_scanner.hpp"

#include "base/octets.hpp"

namespace onceguard::http1 {

block_scanner::step block_scanner::scan(std::string_view block) noexcept {
  const char* const end = block.data() + block.size();
  while (position_ < block.size()) {
    if (position_ == line_ && !in_start_line_) {
      const char first = block[position_];
      if (first == ' ' || first == '\t') {
        return refuse("A header line is folded: it begins with a space or a tab.");
      }
      if (first == ':') return refuse("A header field has no name.");
    }
    const char* const found = base::find_control(block.data() + position_, end);
    position_ = static_cast<std::size_t>(found - block.data());
    if (found == end) break;
    if (*found == '\t') {
      ++position_;
      continue;
    }
    if (*found != '\r') return refuse_control(*found);
    if (found + 1 == end) break;
    if (found[1] != '\n') {
      return refuse("The head has a carriage return that is not followed by a line feed.");
    }
    const std::size_t length = position_ - line_;
    position_ += 2;
    line_ = position_;
    if (in_start_line_) {
      in_start_line_ = false;
      start_line_size_ = length;
      return step::start_line;
    }
    if (length == 0) return step::complete;
    if (++field_count_ > field_count_max_) {
      why_ = {431, "There are too many header fields."};
      return step::refused;
    }
  }
  return step::need_more;
}

block_scanner::step block_scanner::refuse_control(char control) noexcept {
  if (control == '\n') {
    return refuse("The head has a line feed that does not follow a carriage return.");
  }
  if (control == '\0') return refuse("The head has a NUL byte in it.");
  return refuse("The head has a control character in it.");
}

}  // namespace onceguard::http1
