// Frames of AMQP 0-9-1, as bytes to send. librabbitmq encodes what is in them.
#pragma once
#include <amqp.h>
#include <amqp_framing.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace onceguard::messaging::rabbitmq {

/// The text's bytes, which must outlive the result. (librabbitmq does not write to them.)
[[nodiscard]] inline amqp_bytes_t bytes_of(std::string_view text) noexcept {
  return {text.size(), const_cast<char*>(text.data())};
}
[[nodiscard]] inline std::string_view text_of(amqp_bytes_t bytes) noexcept {
  return bytes.len == 0 ? std::string_view()
                        : std::string_view{static_cast<char*>(bytes.bytes), bytes.len};
}

/// Of names, and of most properties: one byte has their length.
inline constexpr std::size_t longest_text = 255;
/// The room for a method without long texts.
inline constexpr std::size_t method_size = 4'096;

/// Appends a method; false: its fields can't be encoded, or not in `size` bytes.
[[nodiscard]] bool append_method(std::string& out, amqp_channel_t channel, amqp_method_number_t id,
                                 void* fields, std::size_t size = method_size);
/// Appends the head of a message; false as above.
[[nodiscard]] bool append_head(std::string& out, amqp_channel_t channel, std::uint64_t body_size,
                               amqp_basic_properties_t& head, std::size_t size);
/// Appends the body of a message, in frames of at most `frame_max` bytes.
void append_body(std::string& out, amqp_channel_t channel, std::string_view body,
                 std::size_t frame_max);
void append_heartbeat(std::string& out);

}  // namespace onceguard::messaging::rabbitmq
