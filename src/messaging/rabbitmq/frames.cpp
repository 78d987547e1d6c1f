#include "messaging/rabbitmq/frames.hpp"

namespace onceguard::messaging::rabbitmq {
namespace {

constexpr std::size_t begin_size = 7;  // type, channel, and the payload's size
constexpr std::size_t end_size = 1;

void append_frame_number(std::string& out, std::uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void append_begin(std::string& out, std::uint8_t type, amqp_channel_t channel, std::size_t size) {
  append_frame_number(out, type, 1);
  append_frame_number(out, channel, 2);
  append_frame_number(out, size, 4);
}

void append_frame_end(std::string& out) { out += static_cast<char>(AMQP_FRAME_END); }

void write_frame_size(std::string& out, std::size_t frame, std::size_t size) {
  std::string number;
  append_frame_number(number, size, 4);
  out.replace(frame + 3, 4, number);
}

/// Appends at most `size` bytes by librabbitmq's `encode`, and ends the frame that began at
/// `frame`. False: takes the frame away again.
template <class Encode>
bool finish_frame(std::string& out, std::size_t frame, std::size_t size, const Encode& encode) {
  const auto begin = out.size();
  out.resize(begin + size);
  const int used = encode(amqp_bytes_t{size, out.data() + begin});
  out.resize(used < 0 ? frame : begin + static_cast<std::size_t>(used));
  if (used < 0) return false;
  write_frame_size(out, frame, out.size() - frame - begin_size);
  append_frame_end(out);
  return true;
}

}  // namespace

bool append_method(std::string& out, amqp_channel_t channel, amqp_method_number_t id, void* fields,
                   std::size_t size) {
  const auto frame = out.size();
  append_begin(out, AMQP_FRAME_METHOD, channel, 0);
  append_frame_number(out, id, 4);
  return finish_frame(out, frame, size,
                      [&](amqp_bytes_t room) { return amqp_encode_method(id, fields, room); });
}

bool append_head(std::string& out, amqp_channel_t channel, std::uint64_t body_size,
                 amqp_basic_properties_t& head, std::size_t size) {
  const auto frame = out.size();
  append_begin(out, AMQP_FRAME_HEADER, channel, 0);
  append_frame_number(out, AMQP_BASIC_CLASS, 2);
  append_frame_number(out, 0, 2);  // "weight": unused
  append_frame_number(out, body_size, 8);
  return finish_frame(out, frame, size, [&](amqp_bytes_t room) {
    return amqp_encode_properties(AMQP_BASIC_CLASS, &head, room);
  });
}

void append_body(std::string& out, amqp_channel_t channel, std::string_view body,
                 std::size_t frame_max) {
  const auto most = frame_max - begin_size - end_size;
  while (!body.empty()) {
    const auto part = body.substr(0, most);
    append_begin(out, AMQP_FRAME_BODY, channel, part.size());
    out += part;
    append_frame_end(out);
    body.remove_prefix(part.size());
  }
}

void append_heartbeat(std::string& out) {
  append_begin(out, AMQP_FRAME_HEARTBEAT, 0, 0);
  append_frame_end(out);
}

}  // namespace onceguard::messaging::rabbitmq
