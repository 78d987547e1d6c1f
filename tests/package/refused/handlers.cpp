// What middlewares refuse, each with a sentence: does not compile.
#include <string>
#include <string_view>

#include <onceguard/beast.hpp>
#include <onceguard/http_postgres.hpp>
#include <onceguard/http_sqlite.hpp>

namespace asio = boost::asio;
using onceguard::http::response;

constexpr std::string_view text("paid");

void handlers(const onceguard::http::middleware& middleware,
              const onceguard::http::request& request) {
  // says: this handler returns nothing: return an onceguard::http::response
  static_cast<void>(middleware.serve(request, [] {}));
  // says: this handler returns another type: return an onceguard::http::response
  static_cast<void>(middleware.serve(request, [] { return text; }));
  // says: this handler takes other parameters: it takes none, or an onceguard::http::exchange&
  static_cast<void>(middleware.serve(request, [](int) { return response{}; }));
  // says: this handler is a coroutine: call async_serve
  static_cast<void>(
      middleware.serve(request, []() -> asio::awaitable<response> { co_return response{}; }));
  // says: this handler is no coroutine of a response
  static_cast<void>(middleware.async_serve(request, [] { return response{}; }));
  // says: this handler is no coroutine of a response
  static_cast<void>(middleware.async_serve(request, []() -> asio::awaitable<void> { co_return; }));
  // says: this handler takes other parameters
  static_cast<void>(middleware.async_serve(request, [](int) {}));
}

void transactions(const onceguard::http::middleware& middleware,
                  const onceguard::http::request& request, sqlite3* file, pg_conn* connection) {
  // says: this work returns nothing
  static_cast<void>(onceguard::sqlite::serve(middleware, file, request, [] {}));
  // says: this work returns a std::string_view
  static_cast<void>(
      onceguard::postgres::serve(middleware, connection, request, [] { return text; }));
}

void adapted(const onceguard::http::middleware& middleware,
             onceguard::beast::request_type& message) {
  // says: this handler returns another type: return an onceguard::http::response
  static_cast<void>(
      onceguard::beast::served(message, [](const onceguard::http::request&) { return text; }));
  // says: this function takes other parameters: it takes a const onceguard::http::request&
  static_cast<void>(onceguard::beast::served(message, [] { return response{}; }));
  // says: this handler takes other parameters: it takes an onceguard::beast::request_type&
  static_cast<void>(onceguard::beast::guarded(middleware, message, [](int) {}));
}
