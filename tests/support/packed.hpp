// Texts that are packed with gzip.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <zlib.h>

namespace onceguard::testing {

/// "hello", packed without a time.
inline constexpr std::string_view packed_hello(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00"
    "\x00"
    "\x00",
    25);

/// Any text.
inline std::string gzip_of(std::string_view text) {
  constexpr int with_gzip_header = 15 + 16;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, with_gzip_header, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string in(text);
  std::string out(deflateBound(&stream, static_cast<uLong>(in.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(static_cast<std::size_t>(stream.total_out));
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) throw std::runtime_error("deflate");
  return out;
}

}  // namespace onceguard::testing
