// The HTTP contract for servers on Boost.Beast.
//
//   auto answer = co_await onceguard::beast::guarded(middleware, std::move(request), handle);
//   co_await boost::beast::async_write(stream, std::move(answer), boost::asio::use_awaitable);
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/system_error.hpp>

#include <onceguard/http.hpp>

namespace onceguard::beast {
inline namespace v1 {

using request_type = boost::beast::http::request<boost::beast::http::string_body>;
using response_type = boost::beast::http::response<boost::beast::http::string_body>;

namespace detail {

inline std::string_view std_view(boost::beast::string_view text) noexcept {
  return {text.data(), text.size()};
}
inline boost::beast::string_view beast_view(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

template <class Fields>
void append_views(const Fields& fields, std::vector<field>& out) {
  for (const auto& header : fields) {
    out.push_back({std_view(header.name_string()), std_view(header.value())});
  }
}

/// Removes what only Onceguard may set.
inline void drop_reserved(request_type& message) {
  for (auto header = message.begin(); header != message.end();) {
    const auto here = header++;
    if (http::is_onceguard_field(std_view(here->name_string()))) message.erase(here);
  }
}

/// The message as the middleware takes it; `fields` is the room for its fields.
inline http::request request_of(const request_type& message, std::vector<field>& fields,
                                std::string_view client_address) {
  append_views(message, fields);
  return {std_view(message.method_string()), std_view(message.target()), fields, client_address,
          message.body()};
}

/// Sets what frames the message. Beast throws for a body that the status does not allow.
inline void frame(response_type& message) {
  if (http::has_no_body(static_cast<std::uint16_t>(message.result_int()))) message.body().clear();
  message.prepare_payload();
}

/// An answer of the middleware's own as Beast's.
inline response_type make_response(http::response made, unsigned version, bool keep_alive) {
  response_type out;
  out.result(made.status);
  out.version(version);
  out.keep_alive(keep_alive);
  for (const auto& [name, value] : made.headers) out.insert(beast_view(name), beast_view(value));
  out.body() = std::move(made.body);
  frame(out);
  return out;
}

/// A handler's answer: with its whole body if that is at hand or of a known length within the
/// limit, otherwise as it is.
struct made_answer {
  /// The answer to send.
  std::variant<response_type, boost::beast::http::message_generator> message;
  http::response head;  ///< of a message as it is
};

template <class Body>
std::string read_body(boost::beast::http::response<Body>& message) {
  typename Body::writer writer(message.base(), message.body());
  boost::beast::error_code failed;
  std::string out;
  writer.init(failed);
  while (!failed) {
    const auto piece = writer.get(failed);
    if (failed || !piece) break;
    const auto begin = out.size();
    const auto size = boost::asio::buffer_size(piece->first);
    out.resize(begin + size);
    boost::asio::buffer_copy(boost::asio::buffer(out.data() + begin, size), piece->first);
    if (!piece->second) break;
  }
  if (failed && failed != boost::beast::http::error::need_buffer) {
    throw boost::system::system_error(failed, "onceguard::beast: the answer's body");
  }
  return out;
}

template <class Body>
made_answer take(boost::beast::http::response<Body> message, const http::exchange& running) {
  message.erase("Idempotent-Replayed");
  if constexpr (std::is_same_v<Body, boost::beast::http::string_body>) {
    if (running.guarded()) frame(message);
    return {std::move(message), {}};
  } else {
    const auto size = message.payload_size();
    if (running.guarded() && size && *size <= running.answer_limit()) {
      auto body = read_body(message);
      response_type whole(std::move(message.base()), std::move(body));
      frame(whole);
      return {std::move(whole), {}};
    }
    http::response head;
    head.status = static_cast<std::uint16_t>(message.result_int());
    for (const auto& header : message) {
      head.headers.emplace_back(std_view(header.name_string()), std_view(header.value()));
    }
    return {boost::beast::http::message_generator(std::move(message)), std::move(head)};
  }
}

inline http::answer_view view_of(const made_answer& made, std::vector<field>& fields) {
  const auto* whole = std::get_if<response_type>(&made.message);
  if (whole == nullptr) {
    auto shown = http::view_of(made.head, fields);
    shown.body.reset();
    return shown;
  }
  append_views(*whole, fields);
  return {static_cast<std::uint16_t>(whole->result_int()), fields, whole->body()};
}

template <class Handler>
auto call_handler(Handler& handler, request_type& message, http::exchange& running) {
  constexpr bool takes_one = std::invocable<Handler&, request_type&>;
  constexpr bool takes_both = std::invocable<Handler&, request_type&, http::exchange&>;
  static_assert(takes_one || takes_both,
                "onceguard: this handler takes other parameters: it takes an "
                "onceguard::beast::request_type&, and an onceguard::http::exchange& if it likes");
  if constexpr (takes_both) {
    return handler(message, running);
  } else if constexpr (takes_one) {
    return handler(message);
  } else {
    return boost::asio::awaitable<response_type>();
  }
}

}  // namespace detail

/// Serves a request, as http::middleware::async_serve. `handler(request_type&)`, which may take an
/// http::exchange& as well, returns an awaitable of a response with any body. Its request has the
/// fields of the lease (Onceguard-Attempt …). A body whose length is not known, or is over the
/// limit, is sent as it is read, after its status was recorded; a repeat then gets 409
/// answer-not-kept. `client_address` is that of the connection, without port.
template <class Handler>
boost::asio::awaitable<boost::beast::http::message_generator> guarded(
    const http::middleware& middleware, request_type message, Handler handler,
    std::string client_address = {}) {
  using boost::beast::http::message_generator;
  detail::drop_reserved(message);
  const auto version = message.version();
  const bool keep_alive = message.keep_alive();
  std::vector<field> fields;
  const auto request = detail::request_of(message, fields, client_address);
  auto got = co_await middleware.async_serve_as<detail::made_answer>(
      request,
      [&](http::exchange& running) -> boost::asio::awaitable<detail::made_answer> {
        for (const auto& [name, value] : running.headers()) {
          message.set(detail::beast_view(name), detail::beast_view(value));
        }
        auto made = co_await detail::call_handler(handler, message, running);
        co_return detail::take(std::move(made), running);
      },
      [](const detail::made_answer& made, std::vector<field>& room) {
        return detail::view_of(made, room);
      });
  if (auto* instead = std::get_if<http::response>(&got)) {
    co_return message_generator(detail::make_response(std::move(*instead), version, keep_alive));
  }
  auto& made = std::get<1>(got);
  if (auto* whole = std::get_if<response_type>(&made.message)) {
    co_return message_generator(std::move(*whole));
  }
  co_return std::get<message_generator>(std::move(made.message));
}

/// Serves a request by a function of plain messages, such as sqlite::serve; blocks.
/// `http::response serve(const http::request&)`; the request's views are of `message`.
template <class Serve>
boost::beast::http::message_generator served(request_type& message, Serve serve,
                                             std::string_view client_address = {}) {
  detail::drop_reserved(message);
  std::vector<field> fields;
  const auto request = detail::request_of(message, fields, client_address);
  http::response made;
  http::detail::answer_by(serve, request, [&](http::response got) { made = std::move(got); });
  return detail::make_response(std::move(made), message.version(), message.keep_alive());
}

}  // namespace v1
}  // namespace onceguard::beast
