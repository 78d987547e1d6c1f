// The frames of a journal's segments, as bytes. docs/formats.md describes them.
//
// A frame is a header and a body, at a multiple of eight bytes, with zeros up to the next one. The
// frames of one flush are a group: records, and last a commit with the store's state. Header and
// body have a checksum each, so that a damaged body still has an id, a length and a successor.
// What is summed up begins with the segment's number: a frame fits at one place only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

namespace onceguard::journal {

/// Stored: never renumber.
enum class frame_kind : std::uint8_t { record = 1, commit = 2 };

inline constexpr std::size_t frame_header_size = 96;
inline constexpr std::size_t frame_step = 8;

struct frame_header {
  frame_kind kind = frame_kind::record;
  /// Of a record: 0 for a commit.
  std::uint8_t state = 0;
  std::uint32_t body_size = 0;
  std::uint64_t group = 0;
  /// Of the record, in the order of the first claims.
  std::uint64_t number = 0;
  /// The boot of the machine by whose clock the record's lease runs.
  std::uint32_t boot = 0;
  record_id id{};
  std::int64_t expires_at = 0;
  std::uint64_t body_sum = 0;

  /// The bytes up to the next frame.
  [[nodiscard]] std::uint64_t whole_size() const noexcept {
    return (frame_header_size + body_size + frame_step - 1) / frame_step * frame_step;
  }
};

/// Appends the frame. Sets `body_size` and `body_sum` of `header`.
void append_frame(std::string& target, std::uint32_t segment, frame_header& header,
                  std::string_view body);
/// None: the bytes, at least `frame_header_size` of them, are no header of this segment.
[[nodiscard]] std::optional<frame_header> read_header(std::string_view bytes,
                                                      std::uint32_t segment);
[[nodiscard]] bool body_fits(const frame_header& header, std::uint32_t segment,
                             std::string_view body) noexcept;

inline constexpr std::size_t identity_size = 16;
/// The beginning of a segment's file.
struct segment_header {
  std::string identity;  ///< of the store
  std::uint32_t number = 0;
  std::uint64_t former_end = 0;  ///< where the frames of the segment before end
};
inline constexpr std::size_t segment_header_size = 64;
[[nodiscard]] std::string encode(const segment_header& header);
/// None: these bytes are no header of a segment of a known format.
[[nodiscard]] std::optional<segment_header> decode_segment_header(std::string_view bytes);

}  // namespace onceguard::journal
