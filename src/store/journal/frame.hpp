// The frames of a journal's segments, as bytes. docs/formats.md describes them.
//
// A frame is a header and a body, at a multiple of eight bytes, with zeros up to the next one. The
// frames of one flush are a group: records, and last a commit with the store's state. Header and
// body have a checksum each, so that a damaged body still has an id, a length and a successor.
// Each sum depends on the seed of the segment, a random number that nobody outside sees: neither a
// frame of another file nor the bytes of an answer pass for a frame.
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
void append_frame(std::string& target, std::uint64_t seed, frame_header& header,
                  std::string_view body);
/// None: the bytes, at least `frame_header_size` of them, are no header of the segment with this
/// seed.
[[nodiscard]] std::optional<frame_header> read_header(std::string_view bytes, std::uint64_t seed);
[[nodiscard]] bool body_fits(const frame_header& header, std::uint64_t seed,
                             std::string_view body) noexcept;

inline constexpr std::size_t identity_size = 16;
/// The beginning of a segment's file.
struct segment_header {
  std::string identity;  ///< of the store
  std::uint32_t number = 0;
  std::uint64_t former_end = 0;  ///< where the frames of the segment before end
  std::uint64_t seed = 0;        ///< random
};
inline constexpr std::size_t segment_header_size = 72;
[[nodiscard]] std::string encode(const segment_header& header);
/// None: these bytes are no header of a segment, or of another format, and then `other_format` is
/// its number.
[[nodiscard]] std::optional<segment_header> decode_segment_header(
    std::string_view bytes, std::uint32_t* other_format = nullptr);

}  // namespace onceguard::journal
