// The HTTP contract for servers on RESTinio, whose handlers stay as they are.
//
//   restinio::run(io, restinio::on_thread_pool(8).port(8080).request_handler(
//       onceguard::restinio::guarded(middleware, io.get_executor(), handle)));
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <onceguard/http.hpp>
#include <onceguard/restinio_answer.hpp>

namespace onceguard::restinio {
inline namespace v1 {

namespace detail {

/// The request as the middleware takes it, without what only Onceguard may set. `fields` and
/// `address` are the room for its views.
template <class Request>
http::request request_of(const Request& message, std::vector<field>& fields, std::string& address) {
  const auto& head = message.header();
  head.for_each_field([&fields](const ::restinio::http_header_field_t& header) {
    if (http::is_onceguard_field(header.name())) return;
    fields.push_back({header.name(), trimmed(header.value())});
  });
  address = message.remote_endpoint().address().to_string();
  return {head.method().c_str(), head.request_target(), fields, address, message.body()};
}

/// The handler's request: with the fields of the lease, and answered through `client`. The other
/// one's connection and extra data go into it.
template <class Extra>
::restinio::generic_request_handle_t<Extra> handler_request(
    ::restinio::generic_request_t<Extra>& message, http::header_list added, client_handle client) {
  struct moved_data {
    Extra& source;
    void make_within(::restinio::extra_data_buffer_t<Extra> room) {
      new (room.get()) Extra(std::move(source));
    }
  };
  auto head = message.header();
  std::vector<std::string> reserved;
  head.for_each_field([&reserved](const ::restinio::http_header_field_t& header) {
    if (http::is_onceguard_field(header.name())) reserved.push_back(header.name());
  });
  for (const auto& name : reserved) head.remove_all_of(name);
  for (auto& [name, value] : added) head.add_field(std::move(name), std::move(value));
  ::restinio::chunked_input_info_unique_ptr_t chunks;
  if (message.chunked_input_info() != nullptr) {
    chunks = std::make_unique<::restinio::chunked_input_info_t>(*message.chunked_input_info());
  }
  moved_data extra{message.extra_data()};
  return std::make_shared<::restinio::generic_request_t<Extra>>(
      message.request_id(), std::move(head), message.body(), std::move(chunks), std::move(client),
      message.remote_endpoint(), extra);
}

template <class Handler, class Request>
request_handling_status_t call_handler(Handler& handler, std::shared_ptr<Request> message,
                                       http::exchange& running) {
  if constexpr (std::invocable<Handler&, std::shared_ptr<Request>, http::exchange&>) {
    return handler(std::move(message), running);
  } else {
    constexpr bool fits =
        std::is_invocable_r_v<request_handling_status_t, Handler&, std::shared_ptr<Request>>;
    static_assert(
        fits,
        "onceguard: this handler is none of RESTinio: it takes a request handle, and an "
        "onceguard::http::exchange& if it likes, and returns a request_handling_status_t");
    if constexpr (fits) return handler(std::move(message));
  }
}

template <class Handler, class Extra>
boost::asio::awaitable<void> serve(const http::middleware* middleware,
                                   boost::asio::any_io_executor executor,
                                   std::shared_ptr<Handler> handler,
                                   ::restinio::generic_request_handle_t<Extra> message) {
  co_await boost::asio::post(executor,
                             boost::asio::use_awaitable);  // out of the handler: see served
  std::vector<field> fields;
  std::string address;
  auto begun = co_await middleware->async_begin(request_of(*message, fields, address));
  auto client = std::move(::restinio::impl::access_req_connection(*message));
  const bool keep_alive = message->header().should_keep_alive();
  if (auto* known = std::get_if<http::response>(&begun)) {
    send(std::move(client), message->request_id(), keep_alive, std::move(*known));
    co_return;
  }
  auto gate = std::make_shared<answer_gate>(client, message->request_id(), keep_alive,
                                            std::get<http::exchange>(std::move(begun)),
                                            std::move(executor));
  auto& running = gate->running();
  // A handler that upgrades the connection needs the connection itself.
  const bool upgrades = !running.guarded() && message->header().connection() ==
                                                  ::restinio::http_connection_header_t::upgrade;
  auto wanted = handler_request(*message, running.headers(), upgrades ? std::move(client) : gate);
  auto call = [&] { return call_handler(*handler, std::move(wanted), running); };
  co_await answer_gate::run(std::move(gate), std::move(call));
}

}  // namespace detail

/// A request handler of RESTinio that guards `handler`, which is one itself: of a request handle,
/// and an http::exchange& if it takes one, valid until it answers. Its request has the fields of
/// the lease (Onceguard-Attempt …). It runs on `executor`, and answers as ever, at once or later,
/// from any thread. An answer of one part, also from files, is kept up to max_answer_body. One that
/// is flushed in parts, in chunks, or longer is sent as it comes, after its status was recorded; a
/// repeat then gets 409 answer-not-kept. A handler that throws is answered with a problem, and one
/// that rejects the request with 501. A request that is dropped without an answer leaves its
/// outcome unknown. The middleware must outlive the handler that is returned.
template <class Handler>
auto guarded(const http::middleware& middleware, boost::asio::any_io_executor executor,
             Handler handler) {
  return [middleware = &middleware, executor = std::move(executor),
          handler = std::make_shared<Handler>(std::move(handler))]<class Extra>(
             ::restinio::generic_request_handle_t<Extra> message) {
    boost::asio::co_spawn(executor,
                          detail::serve(middleware, executor, handler, std::move(message)),
                          detail::answer_gate::rethrow);
    return ::restinio::request_accepted();
  };
}

/// Serves a request by a function of plain messages, such as sqlite::serve; blocks.
/// `http::response serve(const http::request&)`; the request's views are of `message`. What it
/// throws is rethrown, upon which RESTinio closes the connection. The answer is handed to the
/// connection by a thread of boost::asio::system_executor.
template <class Extra, class Serve>
::restinio::request_handling_status_t served(
    const ::restinio::generic_request_handle_t<Extra>& message, Serve serve) {
  std::vector<field> fields;
  std::string address;
  http::response made;
  http::detail::answer_by(serve, detail::request_of(*message, fields, address),
                          [&](http::response got) { made = std::move(got); });
  // Not from within the handler: RESTinio (0.6.16) would begin to read the next request at the
  // handler's return and once more at the end of the write, and lose what came between the two.
  boost::asio::post(boost::asio::system_executor(),
                    [client = std::move(::restinio::impl::access_req_connection(*message)),
                     id = message->request_id(), keep = message->header().should_keep_alive(),
                     made = std::move(made)]() mutable {
                      detail::send(std::move(client), id, keep, std::move(made));
                    });
  return ::restinio::request_accepted();
}

}  // namespace v1
}  // namespace onceguard::restinio
