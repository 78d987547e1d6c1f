#include "core/gzip.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <zlib.h>

namespace onceguard::core {
namespace {

// zlib.h, inflateInit2(): "Add 16 to decode only the gzip format".
constexpr int gzip_only = 16 + MAX_WBITS;
constexpr std::size_t piece_size = 16 * 1024;

/// The state of zlib, which is freed whatever happens.
class inflater {
 public:
  inflater() noexcept : ready_(inflateInit2(&stream_, gzip_only) == Z_OK) {}
  ~inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;

  [[nodiscard]] bool ready() const noexcept { return ready_; }
  z_stream* operator->() noexcept { return &stream_; }
  int step() noexcept { return inflate(&stream_, Z_NO_FLUSH); }
  bool begin_member() noexcept { return inflateReset(&stream_) == Z_OK; }

 private:
  z_stream stream_{};
  bool ready_;
};

}  // namespace

std::optional<std::string> gunzip(std::string_view data, std::size_t longest) {
  inflater stream;
  if (!stream.ready() || data.size() > std::numeric_limits<uInt>::max()) return std::nullopt;
  // zlib only reads its input, but its interface is older than const.
  stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream->avail_in = static_cast<uInt>(data.size());
  std::string out;
  std::array<char, piece_size> piece;
  for (;;) {
    // One byte more than may come, so that what is too long shows.
    const auto room = std::min(piece.size(), longest - out.size() + 1);
    stream->next_out = reinterpret_cast<Bytef*>(piece.data());
    stream->avail_out = static_cast<uInt>(room);
    const int result = stream.step();
    const auto made = room - stream->avail_out;
    if (made > longest - out.size()) return std::nullopt;
    out.append(piece.data(), made);
    if (result == Z_STREAM_END) {
      if (stream->avail_in == 0) return out;
      // RFC 1952 section 2.2: a gzip file is a series of members, and their contents are joined.
      if (!stream.begin_member()) return std::nullopt;
    } else if (result != Z_OK) {
      return std::nullopt;
    }
  }
}

}  // namespace onceguard::core
