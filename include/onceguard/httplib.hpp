// The HTTP contract for servers on cpp-httplib.
//
//   httplib::Server server;
//   server.Post("/payments", onceguard::httplib::guarded(middleware, pay));
//
// cpp-httplib decodes percent signs in fields, and may drop a field with an empty value (0.11
// does): `Idempotency-Key: "a%41"` is the key aA, and an empty one is none. Routes with `required`
// refuse it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <httplib.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <onceguard/http.hpp>

namespace onceguard::httplib {
inline namespace v1 {

/// @cond
namespace detail {

/// The server's request, which handlers get as const. No request of a server is one.
inline ::httplib::Request& changeable(const ::httplib::Request& message) noexcept {
  return const_cast<::httplib::Request&>(message);
}

/// Removes what only Onceguard may set.
inline void drop_reserved(const ::httplib::Request& message) {
  std::erase_if(changeable(message).headers,
                [](const auto& header) { return http::is_onceguard_field(header.first); });
}

inline void append_views(const ::httplib::Headers& headers, std::vector<field>& out) {
  out.reserve(headers.size());
  for (const auto& [name, value] : headers) out.push_back({name, value});
}

/// Whether the server has added the field: the addresses of the connection, as CGI names them. The
/// port of the client is another at each try, so that a retry would be a stranger.
inline bool is_of_connection(std::string_view name) noexcept {
  return name == "REMOTE_ADDR" || name == "REMOTE_PORT" || name == "LOCAL_ADDR" ||
         name == "LOCAL_PORT";
}

/// A multipart body, of which the server keeps the parts alone.
inline std::string joined_parts(const ::httplib::Request& message) {
  std::string out;
  for (const auto& [key, part] : message.files) {
    for (const auto* text : {&part.name, &part.filename, &part.content_type, &part.content}) {
      out.append(std::to_string(text->size())).append(":").append(*text);
    }
  }
  return out;
}

/// The message as the middleware takes it, and the room for its views.
struct shown_request {
  explicit shown_request(const ::httplib::Request& message) {
    append_views(message.headers, fields);
    std::erase_if(fields, [](const auto& f) { return is_of_connection(f.name); });
    if (!message.files.empty()) parts = joined_parts(message);
    view = {message.method, message.target, fields, message.remote_addr,
            message.files.empty() ? message.body : parts};
  }
  shown_request(const shown_request&) = delete;
  shown_request& operator=(const shown_request&) = delete;

  std::vector<field> fields;
  std::string parts;
  http::request view;
};

inline void drop_provider(::httplib::Response& answer) {
  answer.content_provider_ = nullptr;
  answer.content_length_ = 0;
  answer.is_chunked_content_provider_ = false;
}

/// Makes the answer the one of the middleware. Fields of other names stay: they are the server's.
inline void put(http::response made, ::httplib::Response& answer) {
  answer.status = made.status;
  for (const auto& header : made.headers) answer.headers.erase(header.first);
  for (auto& [name, value] : made.headers) answer.headers.emplace(name, std::move(value));
  answer.body = std::move(made.body);
  drop_provider(answer);
}

/// Reads what a provider of a known length gives.
inline void read_body(::httplib::Response& answer) {
  const std::size_t size = answer.content_length_;
  std::string body;
  ::httplib::DataSink sink;
  bool going_on = true;
  sink.write = [&body](const char* data, std::size_t length) {
    body.append(data, length);
    return true;
  };
  sink.is_writable = [] { return true; };
  sink.done = [&going_on] { going_on = false; };
  while (going_on && body.size() < size) {
    if (!answer.content_provider_(body.size(), size - body.size(), sink)) break;
  }
  if (body.size() != size) {
    throw std::runtime_error("onceguard::httplib: the answer's body ended early");
  }
  answer.body = std::move(body);
  answer.content_provider_success_ = true;
  drop_provider(answer);
}

/// A handler's answer, with its whole body if that is of a known length within the limit.
inline void take(::httplib::Response& answer, const http::exchange& running) {
  answer.headers.erase("Idempotent-Replayed");
  const auto size = answer.content_length_;
  if (answer.content_provider_ && size > 0 && size <= running.answer_limit()) read_body(answer);
}

/// `fields` is the room for its fields. The status is what the server makes of none.
inline http::answer_view view_of(const ::httplib::Request& message,
                                 const ::httplib::Response& answer, std::vector<field>& fields) {
  append_views(answer.headers, fields);
  const int unset = message.ranges.empty() ? 200 : 206;
  http::answer_view out{
      static_cast<std::uint16_t>(answer.status == -1 ? unset : answer.status), fields, {}};
  if (!answer.content_provider_) out.body = answer.body;
  return out;
}

template <class Handler>
void serve(const http::middleware& middleware, const Handler& handler,
           const ::httplib::Request& message, ::httplib::Response& answer) {
  drop_reserved(message);
  auto begun = middleware.begin(shown_request(message).view);
  if (auto* known = std::get_if<http::response>(&begun)) return put(std::move(*known), answer);
  auto& running = std::get<http::exchange>(begun);
  for (auto& [name, value] : running.headers()) {
    changeable(message).headers.emplace(name, std::move(value));
  }
  const auto before = answer.headers;  // the server's default fields
  try {
    if constexpr (std::is_invocable_v<const Handler&, const ::httplib::Request&,
                                      ::httplib::Response&, http::exchange&>) {
      handler(message, answer, running);
    } else {
      handler(message, answer);
    }
    take(answer, running);
  } catch (...) {
    static_cast<void>(running.fail(std::current_exception()));
    throw;
  }
  std::vector<field> fields;
  if (auto instead = running.finish(view_of(message, answer, fields))) {
    answer.headers = before;
    put(std::move(*instead), answer);
  }
}

}  // namespace detail
/// @endcond

/// A handler for Server::Post and its like, which runs `handler(const httplib::Request&,
/// httplib::Response&)`, that may take an http::exchange& as well, once for each key. Its request
/// has the fields of the lease (Onceguard-Attempt …). It blocks a thread of the server's pool, also
/// while it waits for a twin. The middleware must outlive the server.
///
/// A body that is set, and one of a provider with a known length within the limit, is kept. Any
/// other provider's is sent as it comes, after its status was recorded; a repeat then gets 409
/// answer-not-kept. What the handler throws is rethrown to the server after the record was settled.
/// A multipart body is the same one if its parts are. Handlers with a content reader can't be
/// guarded: the body is to be read before.
template <class Handler>
::httplib::Server::Handler guarded(const http::middleware& middleware, Handler handler) {
  constexpr bool fits =
      std::is_invocable_v<const Handler&, const ::httplib::Request&, ::httplib::Response&,
                          http::exchange&> ||
      std::is_invocable_v<const Handler&, const ::httplib::Request&, ::httplib::Response&>;
  static_assert(
      fits,
      "onceguard: this handler takes other parameters, or is mutable: threads share it as "
      "const, with (const httplib::Request&, httplib::Response&)");
  // A server copies its handlers.
  return [&middleware, handler = std::make_shared<const Handler>(std::move(handler))](
             const ::httplib::Request& message, ::httplib::Response& answer) {
    if constexpr (fits) detail::serve(middleware, *handler, message, answer);
  };
}

/// Serves a request by a function of plain messages, such as sqlite::serve; blocks.
/// `http::response serve(const http::request&)`; the request's views are of `message`.
template <class Serve>
void served(const ::httplib::Request& message, ::httplib::Response& answer, Serve serve) {
  detail::drop_reserved(message);
  const detail::shown_request shown(message);
  http::detail::answer_by(serve, shown.view,
                          [&](http::response made) { detail::put(std::move(made), answer); });
}

}  // namespace v1
}  // namespace onceguard::httplib
