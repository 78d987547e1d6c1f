// The files of a journal, as a test sees and damages them from outside.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/journal/frame.hpp"
#include "store/journal/segment.hpp"

namespace onceguard::testing {

inline void flip_byte(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const int old = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(old ^ 4));
  if (!file.flush()) throw std::runtime_error("the file can't be changed");
}

class journal_files {
 public:
  struct found_frame {
    std::uint32_t segment = 0;
    std::uint64_t offset = 0;
    journal::frame_header header;
  };

  explicit journal_files(std::string folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::vector<std::uint32_t> segments() const {
    std::vector<std::uint32_t> out;
    for (const auto& each : std::filesystem::directory_iterator(folder_)) {
      if (const auto number = journal::segment_number(each.path().filename().string())) {
        out.push_back(*number);
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  [[nodiscard]] std::string path(std::uint32_t segment) const {
    return folder_ + "/" + journal::segment_name(segment);
  }
  [[nodiscard]] std::string bytes(std::uint32_t segment) const {
    std::ifstream source(path(segment), std::ios::binary);
    return {std::istreambuf_iterator<char>(source), {}};
  }
  [[nodiscard]] std::uint64_t seed_of(std::uint32_t segment) const {
    const auto header = journal::decode_segment_header(bytes(segment));
    if (!header) throw std::logic_error("the segment has no header");
    return header->seed;
  }
  /// All frames, in the order of the log.
  [[nodiscard]] std::vector<found_frame> frames() const {
    std::vector<found_frame> out;
    for (const auto number : segments()) {
      const auto content = bytes(number);
      const auto seed = seed_of(number);
      auto offset = std::uint64_t{journal::segment_header_size};
      while (offset + journal::frame_header_size <= content.size()) {
        const auto header = journal::read_header(content.substr(offset, 96), seed);
        if (!header) break;
        out.push_back({number, offset, *header});
        offset += header->whole_size();
      }
    }
    return out;
  }
  [[nodiscard]] found_frame latest_frame_of(const record_id& id) const {
    const auto all = frames();
    const auto found = std::find_if(all.rbegin(), all.rend(), [&](const found_frame& each) {
      return each.header.kind == journal::frame_kind::record && each.header.id == id;
    });
    if (found == all.rend()) throw std::logic_error("the record has no frame");
    return *found;
  }
  /// Changes the byte so far behind the frame's beginning.
  void flip(const found_frame& frame, std::uint64_t behind) const {
    flip(frame.segment, frame.offset + behind);
  }
  void flip(std::uint32_t segment, std::uint64_t offset) const { flip_byte(path(segment), offset); }

 private:
  const std::string folder_;
};

}  // namespace onceguard::testing
