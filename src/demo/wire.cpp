#include "demo/wire.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "base/ascii.hpp"

namespace onceguard::demo {
namespace {

void take_head(const http1::head& head, message& message) {
  message.method = head.method;
  message.target = head.target;
  message.status = head.status;
  message.keep_alive = head.keep_alive;
  message.headers.clear();
  for (const auto& field : head.fields) message.headers.emplace_back(field.name, field.value);
  message.body.clear();
}

}  // namespace

std::string_view message::header(std::string_view name) const {
  for (const auto& [its_name, value] : headers) {
    if (base::iequals(its_name, name)) return value;
  }
  return {};
}

asio::awaitable<bool> read_message(tcp::socket& socket, http1::reader& reader, message& message) {
  bool ended = false;
  for (;;) {
    switch (ended ? reader.end_of_input() : reader.next()) {
      case http1::progress::need_more: {
        if (ended) co_return false;
        const auto room = reader.prepare(4096);
        const auto [failed, count] =
            co_await socket.async_read_some(asio::buffer(room.data(), room.size()), quietly);
        ended = static_cast<bool>(failed);
        reader.commit(count);
        break;
      }
      case http1::progress::head:
        take_head(reader.head(), message);
        break;
      case http1::progress::body:
        message.body.append(reader.body());
        break;
      case http1::progress::end:
        reader.reset();
        co_return true;
      case http1::progress::error:
        co_return false;
    }
  }
}

asio::awaitable<bool> write_all(tcp::socket& socket, std::string_view bytes) {
  const auto [failed, count] =
      co_await asio::async_write(socket, asio::buffer(bytes.data(), bytes.size()), quietly);
  co_return !failed && count == bytes.size();
}

}  // namespace onceguard::demo
