#include "admin/web_page.hpp"

#include <memory>

#include "admin/gzip.hpp"

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
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Vary: Accept-Encoding\r\n";
constexpr std::string_view gzip_field = "Content-Encoding: gzip\r\n";

resource file(std::string_view path, std::string_view type, std::string_view (*text)() noexcept) {
  const auto small = std::make_shared<const std::string>(gzip_of(text()));
  return {"GET", path, access::open,
          [type, text, small](const request& wanted) -> boost::asio::awaitable<response> {
            response out{.body = {}, .type = std::string(type), .fields = std::string(policy)};
            if (wanted.takes_gzip) out.fields += gzip_field;
            out.body = wanted.takes_gzip ? *small : std::string(text());
            co_return out;
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
