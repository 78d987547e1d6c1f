#include "admin/page.hpp"

namespace onceguard::admin {

namespace {

/// The page runs no script but its own, asks nobody but this listener, and stands in no frame; text
/// from records can't become markup (W3C CSP 3, Trusted Types).
constexpr std::string_view policy =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

resource file(std::string_view path, std::string_view type, std::string_view (*text)() noexcept) {
  return {
      "GET", path, access::open, [type, text](const request&) -> boost::asio::awaitable<response> {
        co_return response{
            .body = std::string(text()), .type = std::string(type), .fields = std::string(policy)};
      }};
}

}  // namespace

resources page_resources() {
  resources out;
  out.push_back(file("/", "text/html; charset=utf-8", page_document));
  out.push_back(file("/page.js", "text/javascript; charset=utf-8", page_script));
  out.push_back(file("/page.css", "text/css; charset=utf-8", page_style));
  return out;
}

}  // namespace onceguard::admin
