// The data of MQTT 5.0 packets as bytes (OASIS, MQTT Version 5.0, section 1.5). Numbers are big
// endian; texts and binary data have their size in two bytes before them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace onceguard::messaging::mqtt {

/// Thrown by readers at bytes that are no MQTT; `why` is a constant.
struct malformed {
  const char* why;
};

/// The largest size of a text, and of binary data in a property.
inline constexpr std::size_t longest_text = 65'535;
/// The largest remaining length of a packet (section 1.5.5).
inline constexpr std::size_t longest_body = 268'435'455;

/// UTF-8 as MQTT has it (section 1.5.4): no U+0000, no surrogates, nothing longer than necessary,
/// and of at most `longest_text` bytes.
[[nodiscard]] bool is_mqtt_text(std::string_view bytes) noexcept;

inline void append_byte(std::string& out, unsigned value) {
  out += static_cast<char>(static_cast<unsigned char>(value));
}
void append_u16(std::string& out, std::uint16_t value);
void append_u32(std::string& out, std::uint32_t value);
/// One to four bytes, of 7 bits each. `value` is at most `longest_body`.
void append_varint(std::string& out, std::size_t value);
/// The size, and the bytes; of at most `longest_text`.
void append_text(std::string& out, std::string_view bytes);
/// The head and the body of a packet.
void append_packet(std::string& out, unsigned first_byte, std::string_view body);

/// Reads the data of a packet, from its begin to its end. Throws `malformed` where the bytes end
/// too early.
class reader {
 public:
  explicit reader(std::string_view bytes) noexcept : rest_(bytes) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::uint8_t byte();
  [[nodiscard]] std::uint16_t u16();
  [[nodiscard]] std::uint32_t u32();
  [[nodiscard]] std::uint32_t varint();
  /// Bytes with their size before them: not checked to be UTF-8.
  [[nodiscard]] std::string_view text();
  [[nodiscard]] std::string_view bytes(std::size_t count);
  [[nodiscard]] std::string_view rest() noexcept;

 private:
  std::string_view rest_;
};

/// A packet within the bytes that have arrived.
struct frame {
  unsigned first_byte = 0;  ///< the type in the upper half, flags in the lower one
  std::string_view body;
  std::size_t size = 0;  ///< of all of it; zero: not all of it has arrived
};
/// The packet at the begin of the bytes. Throws `malformed`.
[[nodiscard]] frame first_packet_frame(std::string_view bytes);

}  // namespace onceguard::messaging::mqtt
