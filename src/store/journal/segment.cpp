#include "store/journal/segment.hpp"

#include <cstdio>
#include <cstring>

#include "base/number_in.hpp"

namespace onceguard::journal {
namespace {

constexpr std::string_view prefix = "segment-";
constexpr std::size_t digits = 10;

error damaged(const frame_location& location, const std::string& why) {
  return error(errc::record_unreadable, "stored record: " + segment_name(location.segment) +
                                            " at byte " + std::to_string(location.offset()) + ": " +
                                            why);
}

}  // namespace

std::string segment_name(std::uint32_t number) {
  auto text = std::to_string(number);
  text.insert(0, digits - text.size(), '0');
  return std::string(prefix) + text;
}

std::optional<std::uint32_t> segment_number(std::string_view name) {
  if (!name.starts_with(prefix) || name.size() != prefix.size() + digits) return std::nullopt;
  auto text = name.substr(prefix.size());
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  const auto out = base::number_in<std::uint32_t>(text);
  if (!out || *out == 0) return std::nullopt;
  return *out;
}

result<whole_frame> read_frame(const segment& source, const frame_location& location,
                               const record_id& id, int* failure) {
  whole_frame out;
  out.body.resize(frame_header_size + location.body_size);
  std::size_t got = 0;
  const int failed = source.bytes->read(out.body.data(), out.body.size(), location.offset(), got);
  if (failure != nullptr) *failure = failed;
  if (failed != 0) return damaged(location, std::strerror(failed));
  if (got < out.body.size()) return damaged(location, "the file ends within it");
  const auto header = read_header(out.body, source.seed);
  if (!header || header->kind != frame_kind::record || header->id != id ||
      header->body_size != location.body_size) {
    return damaged(location, "its header is damaged");
  }
  out.header = *header;
  out.body.erase(0, frame_header_size);
  if (!body_fits(out.header, source.seed, out.body)) {
    return damaged(location, "its checksum is wrong: it is damaged");
  }
  return out;
}

}  // namespace onceguard::journal
