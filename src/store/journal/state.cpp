#include "store/journal/state.hpp"

#include "store/journal/bytes.hpp"

namespace onceguard::journal {
namespace {

constexpr std::size_t fixed_size = 4 * 8 + 4 + 8 + 4 + 8 + 1 + 8 + 8;

}  // namespace

std::string encode(const journal_state& state) {
  std::string out;
  put(out, state.last_token);
  put(out, state.granted);
  put(out, state.forgotten);
  put(out, state.next_number);
  put(out, state.first_segment);
  put(out, state.last_wall);
  put(out, state.boot);
  put(out, state.wall.offset);
  put(out, static_cast<std::uint8_t>(state.wall.unconfirmed));
  put(out, state.wall.unconfirmed_offset);
  put(out, state.wall.unconfirmed_since_boot);
  out += state.boot_id;
  return out;
}

std::optional<journal_state> decode_state(std::string_view bytes) {
  if (bytes.size() < fixed_size) return std::nullopt;
  journal_state out;
  out.last_token = take<token>(bytes);
  out.granted = take<std::uint64_t>(bytes);
  out.forgotten = take<std::uint64_t>(bytes);
  out.next_number = take<std::uint64_t>(bytes);
  out.first_segment = take<std::uint32_t>(bytes);
  out.last_wall = take<std::int64_t>(bytes);
  out.boot = take<std::uint32_t>(bytes);
  out.wall.offset = take<std::int64_t>(bytes);
  out.wall.unconfirmed = take<std::uint8_t>(bytes) != 0;
  out.wall.unconfirmed_offset = take<std::int64_t>(bytes);
  out.wall.unconfirmed_since_boot = take<std::int64_t>(bytes);
  out.boot_id = bytes;
  return out;
}

}  // namespace onceguard::journal
