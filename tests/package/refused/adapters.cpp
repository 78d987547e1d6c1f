// What adapters refuse, each with a sentence: does not compile.
#include <string_view>

#include <onceguard/httplib.hpp>
#include <onceguard/pistache.hpp>

constexpr std::string_view text("paid");

void with_httplib(const onceguard::http::middleware& middleware, const httplib::Request& message,
                  httplib::Response& answer) {
  // says: this handler takes other parameters, or is mutable
  static_cast<void>(onceguard::httplib::guarded(middleware, [](int) {}));
  // says: this handler takes other parameters, or is mutable
  static_cast<void>(onceguard::httplib::guarded(
      middleware, [runs = 0](const httplib::Request&, httplib::Response&) mutable { ++runs; }));
  // says: this handler returns nothing
  onceguard::httplib::served(message, answer, [](const onceguard::http::request&) {});
}

void with_pistache(const onceguard::http::middleware& middleware,
                   const Pistache::Rest::Request& message, Pistache::Http::ResponseWriter writer) {
  // says: this handler takes other parameters, or is mutable
  static_cast<void>(onceguard::pistache::guarded(middleware, [](int) {}));
  const auto view = [](const onceguard::http::request&) { return text; };
  // says: this handler returns another type
  static_cast<void>(onceguard::pistache::served(message, std::move(writer), view));
}
