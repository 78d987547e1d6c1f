#include "messaging/mqtt/packet_bytes.hpp"

#include "base/utf8.hpp"

namespace onceguard::messaging::mqtt {

bool is_mqtt_text(std::string_view bytes) noexcept {
  if (bytes.size() > longest_text) return false;
  while (!bytes.empty()) {
    const auto next = base::first_character(bytes);
    if (next.size == 0 || next.value == 0) return false;
    bytes.remove_prefix(next.size);
  }
  return true;
}

void append_u16(std::string& out, std::uint16_t value) {
  append_byte(out, value >> 8U);
  append_byte(out, value & 0xffU);
}

void append_u32(std::string& out, std::uint32_t value) {
  append_u16(out, static_cast<std::uint16_t>(value >> 16U));
  append_u16(out, static_cast<std::uint16_t>(value & 0xffffU));
}

void append_varint(std::string& out, std::size_t value) {
  do {
    const auto low = static_cast<unsigned>(value & 0x7fU);
    value >>= 7U;
    append_byte(out, value > 0 ? low | 0x80U : low);
  } while (value > 0);
}

void append_text(std::string& out, std::string_view bytes) {
  append_u16(out, static_cast<std::uint16_t>(bytes.size()));
  out += bytes;
}

void append_packet(std::string& out, unsigned first_byte, std::string_view body) {
  append_byte(out, first_byte);
  append_varint(out, body.size());
  out += body;
}

std::uint8_t reader::byte() { return static_cast<std::uint8_t>(bytes(1).front()); }

std::uint16_t reader::u16() {
  const unsigned high = byte();
  return static_cast<std::uint16_t>(high << 8U | byte());
}

std::uint32_t reader::u32() {
  const std::uint32_t high = u16();
  return high << 16U | u16();
}

std::uint32_t reader::varint() {
  std::uint32_t out = 0;
  for (unsigned shift = 0; shift < 28; shift += 7) {
    const std::uint32_t next = byte();
    out |= (next & 0x7fU) << shift;
    if ((next & 0x80U) == 0) return out;
  }
  throw malformed{"a number of more than four bytes"};
}

std::string_view reader::text() { return bytes(u16()); }

std::string_view reader::bytes(std::size_t count) {
  if (rest_.size() < count) throw malformed{"a packet ends too early"};
  const auto out = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return out;
}

std::string_view reader::rest() noexcept {
  const auto out = rest_;
  rest_ = {};
  return out;
}

frame first_packet_frame(std::string_view bytes) {
  frame out;
  std::size_t size = 0;
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    if (i > 4) throw malformed{"a length of more than four bytes"};
    const auto next = static_cast<unsigned char>(bytes[i]);
    size |= static_cast<std::size_t>(next & 0x7fU) << (7 * (i - 1));
    if ((next & 0x80U) != 0) continue;
    if (bytes.size() - i - 1 < size) return out;
    out.first_byte = static_cast<unsigned char>(bytes.front());
    out.body = bytes.substr(i + 1, size);
    out.size = i + 1 + size;
    return out;
  }
  return out;
}

}  // namespace onceguard::messaging::mqtt
