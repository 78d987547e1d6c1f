// The HTTP contract for servers on Pistache.
//
//   Routes::Post(router, "/payments", onceguard::pistache::guarded(middleware, pay));
//   endpoint.setHandler(onceguard::pistache::handler(router.handler()));
//
// Pistache keeps the first of two fields of one name, and of two parameters of a query. `handler`
// joins the fields, so that two keys are refused; without it, one of them counts.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <pistache/endpoint.h>
#include <pistache/http.h>
#include <pistache/peer.h>
#include <pistache/router.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <onceguard/http.hpp>

namespace onceguard::pistache {
inline namespace v1 {

/// @cond
namespace detail {

namespace server = ::Pistache::Http;

/// Removes what only Onceguard may set.
inline void drop_reserved(server::Header::Collection& headers) {
  std::vector<std::string> names;
  for (const auto& [name, raw] : headers.rawList()) {
    if (http::is_onceguard_field(name)) names.push_back(name);
  }
  for (const auto& name : names) {
    while (headers.remove(name)) {
    }
  }
}

// Several fields as one of Pistache's, which has one for each name and keeps no order.
class field_lines final : public server::Header::Header {
 public:
  explicit field_lines(http::header_list fields) : fields_(std::move(fields)) {}
  const char* name() const override { return fields_.front().first.c_str(); }
  void write(std::ostream& out) const override {
    out << fields_.front().second;
    for (auto each = std::next(fields_.begin()); each != fields_.end(); ++each) {
      out << "\r\n" << each->first << ": " << each->second;
    }
  }
#ifdef SAFE_HEADER_CAST
  uint64_t hash() const override { return 0; }
#endif
  [[nodiscard]] const http::header_list& fields() const noexcept { return fields_; }

 private:
  http::header_list fields_;
};

inline http::header_list fields_of(server::ResponseWriter& writer) {
  http::header_list out;
  std::ostringstream text;
  for (const auto& header : writer.headers().list()) {
    if (const auto* lines = dynamic_cast<const field_lines*>(header.get())) {
      out.insert(out.end(), lines->fields().begin(), lines->fields().end());
      continue;
    }
    text.str({});
    header->write(text);
    out.emplace_back(header->name(), text.str());
  }
  for (const auto& cookie : writer.cookies()) {
    text.str({});
    text << cookie;
    out.emplace_back("Set-Cookie", text.str());
  }
  return out;
}

/// Makes the fields of the answer those of the middleware's, beside the connection's own.
inline void put_fields(http::header_list fields, server::ResponseWriter& writer) {
  const auto connection = writer.headers().tryGet<server::Header::Connection>();
  writer.headers().clear();
  writer.cookies().removeAllCookies();
  if (connection) writer.headers().add(connection);
  if (!fields.empty()) writer.headers().add(std::make_shared<field_lines>(std::move(fields)));
}

inline ::Pistache::Async::Promise<ssize_t> send(http::response made,
                                                server::ResponseWriter& writer) {
  put_fields(std::move(made.headers), writer);
  return writer.send(static_cast<server::Code>(made.status), made.body);
}

// A handler that runs, and the one end of it.
struct running_handler {
  http::exchange exchange;
  server::ResponseWriter writer;
  std::atomic<bool> ended{false};

  /// Ends the exchange with this answer. What the client gets instead; empty: the answer.
  std::optional<http::response> finish(server::Code code, std::optional<std::string_view> body) {
    if (ended.exchange(true)) throw std::logic_error("onceguard::pistache: answered twice");
    writer.headers().remove("Idempotent-Replayed");
    if (!exchange.guarded()) return std::nullopt;
    http::response made{static_cast<std::uint16_t>(code), fields_of(writer), {}};
    std::vector<field> fields;
    auto shown = http::view_of(made, fields);
    shown.body = body;
    return exchange.finish(shown);
  }

  /// An HttpError is an answer: its status counts. Whether the server still has to send it.
  bool finish(const server::HttpError& thrown) {
    if (ended) return true;
    auto instead = finish(static_cast<server::Code>(thrown.code()), thrown.reason());
    if (instead) send(std::move(*instead), writer);
    return !instead;
  }
};

}  // namespace detail
/// @endcond

/// Answers a request, as Pistache's ResponseWriter. Any one thread at a time may use it, also after
/// the handler; it is used once, and one that is dropped leaves the outcome unknown. Every call
/// blocks until the record is durable. It has no timeoutAfter: that answer would be nobody's.
class response_writer {
 public:
  /// Made by guarded, for each request.
  explicit response_writer(std::shared_ptr<detail::running_handler> run) : run_(std::move(run)) {}

  /// The fields of the answer.
  ::Pistache::Http::Header::Collection& headers() { return run_->writer.headers(); }
  /// What the answer sets. A replay sets none, unless keep_set_cookie says so.
  ::Pistache::Http::CookieJar& cookies() { return run_->writer.cookies(); }
  /// With the lease. Only the writer ends it.
  http::exchange& exchange() { return run_->exchange; }

  /// Sends an answer, which is kept.
  ::Pistache::Async::Promise<ssize_t> send(::Pistache::Http::Code code,
                                           const std::string& body = {},
                                           const ::Pistache::Http::Mime::MediaType& mime = {}) {
    if (mime.isValid()) run_->writer.setMime(mime);
    if (auto instead = run_->finish(code, body)) {
      return detail::send(std::move(*instead), run_->writer);
    }
    return run_->writer.send(code, body);
  }

  /// The same with any fields in any order, also several of one name.
  ::Pistache::Async::Promise<ssize_t> send(http::response made) {
    http::drop_replay_mark(made.headers);
    detail::put_fields(std::move(made.headers), run_->writer);
    return send(static_cast<::Pistache::Http::Code>(made.status), made.body);
  }

  /// Begins a stream, after its status was recorded; a repeat gets 409 answer-not-kept. Empty: the
  /// client got another answer, and there is nothing to send.
  std::optional<::Pistache::Http::ResponseStream> stream(
      ::Pistache::Http::Code code,
      std::size_t size = ::Pistache::Http::ResponseWriter::DefaultStreamSize) {
    if (auto instead = run_->finish(code, std::nullopt)) {
      detail::send(std::move(*instead), run_->writer);
      return std::nullopt;
    }
    return run_->writer.stream(code, size);
  }

  /// Sends a file with status 200. One within the limit is kept; of a longer one the status is. A
  /// file that can't be read is an exception.
  ::Pistache::Async::Promise<ssize_t> send_file(const std::string& name,
                                                ::Pistache::Http::Mime::MediaType mime = {}) {
    using ::Pistache::Http::Code;
    std::ifstream file(name, std::ios::binary | std::ios::ate);
    if (!file) throw std::runtime_error("onceguard::pistache: can't read the file " + name);
    const auto size = static_cast<std::size_t>(file.tellg());
    if (!mime.isValid()) mime = ::Pistache::Http::Mime::MediaType::fromFile(name.c_str());
    if (run_->exchange.guarded() && size <= run_->exchange.answer_limit()) {
      std::string body(size, '\0');
      file.seekg(0).read(body.data(), static_cast<std::streamsize>(size));
      if (!file) throw std::runtime_error("onceguard::pistache: can't read the file " + name);
      return send(Code::Ok, body, mime);
    }
    if (mime.isValid()) run_->writer.setMime(mime);
    if (auto instead = run_->finish(Code::Ok, std::nullopt)) {
      return detail::send(std::move(*instead), run_->writer);
    }
    return ::Pistache::Http::serveFile(run_->writer, name, mime);
  }

 private:
  std::shared_ptr<detail::running_handler> run_;
};

/// @cond
namespace detail {

/// The message as the middleware takes it, without what only Onceguard may set, and the room for
/// its views.
struct shown_request {
  explicit shown_request(::Pistache::Rest::Request& message)
      : target(message.resource() + std::as_const(message).query().as_str()),
        address(message.address().host()),
        body(message.body()) {
    drop_reserved(message.headers());
    const auto& raw = std::as_const(message).headers().rawList();
    values.reserve(raw.size());
    for (const auto& [name, line] : raw) {
      fields.push_back({name, values.emplace_back(line.value())});
    }
    view = {server::methodString(message.method()), target, fields, address, body};
  }
  shown_request(const shown_request&) = delete;
  shown_request& operator=(const shown_request&) = delete;

  // Pistache gives copies.
  std::string target;
  std::string address;
  std::string body;
  std::vector<std::string> values;
  std::vector<field> fields;
  http::request view;
};

template <class Handler>
void serve(const http::middleware& middleware, const Handler& handler,
           ::Pistache::Rest::Request& message, server::ResponseWriter writer) {
  auto begun = middleware.begin(shown_request(message).view);
  if (auto* known = std::get_if<http::response>(&begun)) {
    send(std::move(*known), writer);
    return;
  }
  auto& running = std::get<http::exchange>(begun);
  for (auto& [name, value] : running.headers()) {
    message.headers().addRaw({name, std::move(value)});
  }
  const auto run = std::make_shared<running_handler>(std::move(running), std::move(writer));
  try {
    handler(std::as_const(message), response_writer(run));
  } catch (const server::HttpError& thrown) {
    if (run->finish(thrown)) throw;
  } catch (...) {
    if (!run->ended.exchange(true)) {
      static_cast<void>(run->exchange.fail(std::current_exception()));
    }
    throw;
  }
}

// Reads the head, and joins fields of one name, of which Pistache keeps the first.
class joining_step final : public server::Private::HeadersStep {
 public:
  using HeadersStep::HeadersStep;
  server::Private::State apply(::Pistache::StreamCursor& cursor) override {
    const std::size_t start = cursor;
    const auto state = HeadersStep::apply(cursor);
    if (state == server::Private::State::Next) join({cursor.offset(start), cursor.diff(start)});
    return state;
  }

 private:
  void join(std::string_view head) {
    std::vector<std::pair<std::string, std::string>> lines;
    while (!head.empty()) {
      const auto line = head.substr(0, head.find("\r\n"));
      head.remove_prefix(std::min(head.size(), line.size() + 2));
      const auto colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      const auto value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
      lines.emplace_back(line.substr(0, colon), line.substr(value));
    }
    auto& headers = message->headers();
    if (lines.size() == headers.rawList().size()) return;
    const server::Header::LowercaseEqual same;
    for (auto first = lines.begin(); first != lines.end(); ++first) {
      auto joined = first->second;
      const auto cookie = same(first->first, "cookie");
      const auto rest = std::remove_if(std::next(first), lines.end(), [&](const auto& line) {
        if (!same(first->first, line.first)) return false;
        joined.append(cookie ? "; " : ", ").append(line.second);
        return true;
      });
      if (rest == lines.end()) continue;
      lines.erase(rest, lines.end());
      const auto typed = headers.tryGet(first->first);
      while (headers.remove(first->first)) {
      }
      if (typed) headers.add(typed);
      headers.addRaw({first->first, std::move(joined)});
    }
  }
};

class joining_parser final : public server::RequestParser {
 public:
  explicit joining_parser(std::size_t size) : ParserImpl(size) {
    allSteps[1] = std::make_unique<joining_step>(&request);
  }
};

class joining_handler final : public server::Handler {
 public:
  HTTP_PROTOTYPE(joining_handler)
  explicit joining_handler(std::shared_ptr<server::Handler> inner) : inner_(std::move(inner)) {}
  joining_handler(const joining_handler& other)
      : Handler(other), inner_(std::static_pointer_cast<Handler>(other.inner_->clone())) {}

  void onConnection(const std::shared_ptr<::Pistache::Tcp::Peer>& peer) override {
    std::shared_ptr<server::RequestParser> parser =
        std::make_shared<joining_parser>(getMaxRequestSize());
    peer->putData(ParserData, std::move(parser));
  }
  void onRequest(const server::Request& request, server::ResponseWriter writer) override {
    inner_->onRequest(request, std::move(writer));
  }
  void onDisconnection(const std::shared_ptr<::Pistache::Tcp::Peer>& peer) override {
    inner_->onDisconnection(peer);
  }
  void onTimeout(const server::Request& request, server::ResponseWriter writer) override {
    inner_->onTimeout(request, std::move(writer));
  }

 private:
  std::shared_ptr<server::Handler> inner_;
};

}  // namespace detail
/// @endcond

/// A handler for a router's routes, which runs `handler(const Rest::Request&, response_writer)`
/// once for each key. Its request has the fields of the lease (Onceguard-Attempt …) among its raw
/// ones. It blocks a thread of the endpoint's, also while it waits for a twin. The middleware must
/// outlive the endpoint. What the handler throws is rethrown after the record was settled; an
/// Http::HttpError is an answer, whose status decides as that of any other.
template <class Handler>
::Pistache::Rest::Route::Handler guarded(const http::middleware& middleware, Handler handler) {
  constexpr bool fits =
      std::is_invocable_v<const Handler&, const ::Pistache::Rest::Request&, response_writer>;
  static_assert(
      fits,
      "onceguard: this handler takes other parameters, or is mutable: threads share it as "
      "const, with (const Pistache::Rest::Request&, onceguard::pistache::response_writer)");
  // A router copies its handlers.
  return [&middleware, handler = std::make_shared<const Handler>(std::move(handler))](
             ::Pistache::Rest::Request message, ::Pistache::Http::ResponseWriter writer) {
    if constexpr (fits) detail::serve(middleware, *handler, message, std::move(writer));
    return ::Pistache::Rest::Route::Result::Ok;
  };
}

/// Serves a request by a function of plain messages, such as sqlite::serve; blocks a thread of the
/// endpoint's. `http::response serve(const http::request&)`; the request's views are of `message`.
template <class Serve>
::Pistache::Rest::Route::Result served(::Pistache::Rest::Request message,
                                       ::Pistache::Http::ResponseWriter writer, Serve serve) {
  const detail::shown_request shown(message);
  http::detail::answer_by(serve, shown.view,
                          [&](http::response made) { detail::send(std::move(made), writer); });
  return ::Pistache::Rest::Route::Result::Ok;
}

/// The endpoint's handler over that of a router, or another one: requests have all their fields,
/// those of one name joined by commas.
inline std::shared_ptr<::Pistache::Http::Handler> handler(
    std::shared_ptr<::Pistache::Http::Handler> inner) {
  return std::make_shared<detail::joining_handler>(std::move(inner));
}

}  // namespace v1
}  // namespace onceguard::pistache
