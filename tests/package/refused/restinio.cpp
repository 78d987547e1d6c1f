// What the adapter of RESTinio refuses, each with a sentence: does not compile.
#include <restinio/all.hpp>
#include <string>

#include <onceguard/restinio.hpp>

void with_restinio(const onceguard::http::middleware& middleware,
                   const boost::asio::any_io_executor& executor,
                   const restinio::request_handle_t& message) {
  const auto text_of = [](const restinio::request_handle_t&) { return std::string(); };
  // says: this handler is none of RESTinio
  onceguard::restinio::guarded(middleware, executor, text_of)(message);
  const auto nothing = [](const onceguard::http::request&) {};
  // says: this handler returns nothing: return an onceguard::http::response
  onceguard::restinio::served(message, nothing);
}
