#include "store/journal/frame.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "store/journal/bytes.hpp"

namespace onceguard::journal {
namespace {

constexpr std::uint32_t frame_mark = 0x4a0f10a7;
constexpr std::string_view segment_mark = "onceguard journal";
constexpr std::uint32_t segment_format = 2;

std::uint64_t sum_with(std::uint64_t seed, std::string_view bytes) noexcept {
  return base::checksum_of(bytes) ^ seed;
}

void put_header(std::string& target, std::uint64_t seed, const frame_header& header) {
  const auto begin = target.size();
  put(target, frame_mark);
  put(target, static_cast<std::uint8_t>(header.kind));
  put(target, header.state);
  put(target, std::uint16_t{0});
  put(target, header.body_size);
  put(target, header.boot);
  put(target, header.group);
  put(target, header.number);
  target.append(base::as_chars(header.id));
  put(target, header.expires_at);
  put(target, header.body_sum);
  put(target, std::uint64_t{0});
  put(target, sum_with(seed, std::string_view(target).substr(begin)));
}

}  // namespace

void append_frame(std::string& target, std::uint64_t seed, frame_header& header,
                  std::string_view body) {
  header.body_size = static_cast<std::uint32_t>(body.size());
  header.body_sum = sum_with(seed, body);
  const auto end = target.size() + header.whole_size();
  put_header(target, seed, header);
  target.append(body);
  target.resize(end, '\0');
}

std::optional<frame_header> read_header(std::string_view bytes, std::uint64_t seed) {
  auto rest = bytes.substr(0, frame_header_size);
  const auto summed = rest.substr(0, frame_header_size - sizeof(std::uint64_t));
  if (take<std::uint32_t>(rest) != frame_mark) return std::nullopt;
  frame_header out;
  out.kind = static_cast<frame_kind>(take<std::uint8_t>(rest));
  out.state = take<std::uint8_t>(rest);
  const auto reserved = take<std::uint16_t>(rest);
  out.body_size = take<std::uint32_t>(rest);
  out.boot = take<std::uint32_t>(rest);
  out.group = take<std::uint64_t>(rest);
  out.number = take<std::uint64_t>(rest);
  std::copy_n(rest.begin(), out.id.size(), out.id.begin());
  rest.remove_prefix(out.id.size());
  out.expires_at = take<std::int64_t>(rest);
  out.body_sum = take<std::uint64_t>(rest);
  const auto more = take<std::uint64_t>(rest);
  if (take<std::uint64_t>(rest) != sum_with(seed, summed)) return std::nullopt;
  const bool known = out.kind == frame_kind::record || out.kind == frame_kind::commit;
  if (!known || reserved != 0 || more != 0) return std::nullopt;
  return out;
}

bool body_fits(const frame_header& header, std::uint64_t seed, std::string_view body) noexcept {
  return body.size() == header.body_size && sum_with(seed, body) == header.body_sum;
}

std::string encode(const segment_header& header) {
  std::string out(segment_mark);
  out.resize(20, '\0');
  put(out, segment_format);
  put(out, header.number);
  put(out, std::uint32_t{0});
  out.append(header.identity);
  put(out, header.former_end);
  put(out, header.seed);
  put(out, base::checksum_of(out));
  return out;
}

std::optional<segment_header> decode_segment_header(std::string_view bytes,
                                                    std::uint32_t* other_format) {
  if (bytes.size() < segment_header_size || !bytes.starts_with(segment_mark)) return std::nullopt;
  bytes = bytes.substr(0, segment_header_size);
  auto from_format = bytes.substr(20);
  const auto found = take<std::uint32_t>(from_format);
  if (found != segment_format) {
    if (other_format != nullptr) *other_format = found;
    return std::nullopt;
  }
  auto end = bytes.substr(segment_header_size - sizeof(std::uint64_t));
  const auto sum = base::checksum_of(bytes.substr(0, bytes.size() - end.size()));
  if (take<std::uint64_t>(end) != sum) return std::nullopt;
  bytes = from_format;
  segment_header out;
  out.number = take<std::uint32_t>(bytes);
  bytes.remove_prefix(4);
  out.identity = bytes.substr(0, identity_size);
  bytes.remove_prefix(identity_size);
  out.former_end = take<std::uint64_t>(bytes);
  out.seed = take<std::uint64_t>(bytes);
  return out;
}

}  // namespace onceguard::journal
