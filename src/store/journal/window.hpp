// The content of a file, read piece by piece.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/journal/file_layer.hpp"

namespace onceguard::journal {

class window {
 public:
  explicit window(const file& source) : source_(source) {}

  /// Up to `size` bytes at `offset`; fewer only at the end of the file. Valid until the next call.
  std::string_view at(std::uint64_t offset, std::size_t size) {
    if (offset < begin_ || offset + size > begin_ + bytes_.size()) load(offset, size);
    const auto skip = static_cast<std::size_t>(offset - begin_);
    return skip >= bytes_.size() ? std::string_view{} : std::string_view(bytes_).substr(skip, size);
  }
  /// 0, or the errno of a read that failed.
  [[nodiscard]] int failed() const noexcept { return failed_; }

 private:
  void load(std::uint64_t offset, std::size_t size) {
    constexpr std::size_t piece = std::size_t{1} << 20;
    bytes_.resize(std::max(size, piece));
    begin_ = offset;
    std::size_t got = 0;
    if (const int why = source_.read(bytes_.data(), bytes_.size(), offset, got); why != 0) {
      failed_ = why;
      got = 0;
    }
    bytes_.resize(got);
  }

  const file& source_;
  std::string bytes_;
  std::uint64_t begin_ = 0;
  int failed_ = 0;
};

}  // namespace onceguard::journal
