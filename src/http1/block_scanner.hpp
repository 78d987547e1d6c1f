// Checks a block of header lines before llhttp parses the block: line ends, folding, control
// characters.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http1/message.hpp"

namespace onceguard::http1 {

/// Scans a head, or a trailer section, as its bytes arrive: each byte once. Refuses what two
/// parsers may split into different lines: a CR or LF alone, NUL and other control characters
/// (except a tab inside a line), folded lines, and lines without a field name.
class block_scanner {
 public:
  enum class kind : std::uint8_t { head, trailers };
  enum class step : std::uint8_t {
    need_more,
    start_line,  ///< a head's first line has ended; call scan() again
    complete,    ///< the empty line was found
    refused,     ///< why() has the fault
  };

  block_scanner(kind value, std::size_t field_count_max) noexcept
      : field_count_max_(field_count_max), in_start_line_(value == kind::head) {}

  /// `block` begins at the block's first byte and only grows between calls.
  [[nodiscard]] step scan(std::string_view block) noexcept;

  /// The length of the start line without its line end, once the line has ended.
  [[nodiscard]] std::size_t start_line_size() const noexcept { return start_line_size_; }
  [[nodiscard]] bool in_start_line() const noexcept { return in_start_line_; }
  /// The length of the block including the empty line, once the block is complete.
  [[nodiscard]] std::size_t size() const noexcept { return position_; }
  /// The number of complete field lines.
  [[nodiscard]] std::size_t field_count() const noexcept { return field_count_; }
  [[nodiscard]] const fault& why() const noexcept { return why_; }

 private:
  step refuse(std::string_view description) noexcept {
    why_ = {400, description};
    return step::refused;
  }
  step refuse_control(char control) noexcept;

  std::size_t position_ = 0;
  std::size_t line_ = 0;  ///< where the current line begins
  std::size_t start_line_size_ = 0;
  std::size_t field_count_ = 0;
  std::size_t field_count_max_;
  bool in_start_line_;
  fault why_;
};

}  // namespace onceguard::http1
