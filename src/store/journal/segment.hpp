// A segment: one file of the journal, and how much of it is still needed.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "store/journal/file_layer.hpp"
#include "store/journal/frame.hpp"

namespace onceguard::journal {

/// Of a segment that is not finished.
inline constexpr const char* new_segment_name = "segment-new";
/// Of a file of zeros that becomes the next segment when the disk is full, so that there is room
/// for what has to be written before segments can be removed.
inline constexpr const char* reserve_name = "segment-reserve";
/// "segment-0000000001"
[[nodiscard]] std::string segment_name(std::uint32_t number);
/// None: this is no name of a segment.
[[nodiscard]] std::optional<std::uint32_t> segment_number(std::string_view name);

struct segment {
  std::uint32_t number = 0;
  std::uint64_t seed = 0;
  std::unique_ptr<file> bytes;
  std::uint64_t end = 0;       ///< of its frames
  std::uint64_t live = 0;      ///< bytes of frames that are the latest of their records
  std::uint64_t capacity = 0;  ///< of the last one: where what is reserved ends
  std::uint64_t written = 0;   ///< of the last one: where its blocks end that were written
};
/// Readers hold a segment for as long as they read, whoever removes its file meanwhile.
using segment_ptr = std::shared_ptr<segment>;

/// Where a frame stands.
struct frame_location {
  std::uint32_t segment = 0;
  std::uint32_t step = 0;  ///< the offset, in units of `frame_step`
  std::uint32_t body_size = 0;

  [[nodiscard]] std::uint64_t offset() const noexcept { return std::uint64_t{step} * frame_step; }
  [[nodiscard]] std::uint64_t whole_size() const noexcept {
    frame_header sized;
    sized.body_size = body_size;
    return sized.whole_size();
  }
  friend bool operator==(const frame_location&, const frame_location&) = default;
};

struct whole_frame {
  frame_header header;
  std::string body;
};

/// Reads the record's frame. errc::record_unreadable: it is damaged, or the disk does not deliver
/// it, and then `failure` is the errno. Any thread.
[[nodiscard]] result<whole_frame> read_frame(const segment& source, const frame_location& location,
                                             const record_id& id, int* failure = nullptr);

}  // namespace onceguard::journal
