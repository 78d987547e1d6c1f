// Splits blocks that were scanned before into their parts, using llhttp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <llhttp.h>

#include "base/field.hpp"
#include "http1/block_scanner.hpp"
#include "http1/message.hpp"

namespace onceguard::http1 {

/// The parts of one message. Views point into the caller's blocks. After a fault only restart() may
/// be called. Can't be moved, as llhttp holds a pointer to the parser.
class parser {
 public:
  explicit parser(reader::kind kind);
  parser(const parser&) = delete;
  parser& operator=(const parser&) = delete;

  /// Call before each message.
  void restart() noexcept;

  /// Parses a whole head, from the start line to the empty line, with at most `field_count` fields.
  [[nodiscard]] std::optional<fault> cut_head(std::string_view block, std::size_t field_count);
  /// Parses a chunk's first line with its line end; then chunk_size() is known.
  [[nodiscard]] std::optional<fault> cut_chunk_line(std::string_view line);
  /// Parses bytes of a chunk: at most the rest of the chunk.
  [[nodiscard]] std::optional<fault> cut_chunk(std::string_view bytes);
  /// Parses the two bytes after a chunk.
  [[nodiscard]] std::optional<fault> cut_chunk_end(std::string_view bytes);
  /// Parses the trailer section with its empty line and at most `field_count` fields.
  [[nodiscard]] std::optional<fault> cut_trailers(std::string_view block, std::size_t field_count);

  [[nodiscard]] std::string_view method() const noexcept { return method_; }
  [[nodiscard]] std::string_view target() const noexcept { return target_; }
  [[nodiscard]] std::string_view reason() const noexcept { return reason_; }
  [[nodiscard]] std::uint16_t status() const noexcept { return llhttp_.status_code; }
  [[nodiscard]] std::uint8_t minor() const noexcept { return llhttp_.http_minor; }
  [[nodiscard]] const std::vector<base::field>& fields() const noexcept { return fields_; }

  [[nodiscard]] const std::vector<base::field>& trailers() const noexcept { return trailers_; }
  [[nodiscard]] std::uint64_t chunk_size() const noexcept { return chunk_size_; }

 private:
  friend struct callbacks;
  llhttp_errno_t feed(std::string_view bytes) noexcept;
  [[nodiscard]] fault fault_of(llhttp_errno_t error) const noexcept;

  llhttp_t llhttp_;
  reader::kind kind_;
  bool in_trailers_ = false;
  bool head_ended_ = false;
  bool message_ended_ = false;
  bool chunk_line_ended_ = false;
  bool chunk_ended_ = false;
  std::uint64_t chunk_size_ = 0;
  std::string_view method_, target_, reason_, name_, value_;
  std::size_t body_bytes_ = 0;  ///< body bytes that llhttp found in the last input
  std::vector<base::field> fields_;
  std::vector<base::field> trailers_;
};

}  // namespace onceguard::http1
