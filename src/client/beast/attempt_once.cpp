#include "client/beast/attempt_once.hpp"

#include <memory>
#include <string>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/for_ever.hpp"
#include "base/url.hpp"
#include "client/answer_fields.hpp"
#include "client/beast/host_lookup.hpp"
#include "client/delivery_run.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using tls_stream = asio::ssl::stream<tcp::socket&>;
using message = http::request<http::string_body>;

constexpr std::uint32_t head_size_max = 64u << 10;

struct url_target {
  bool tls;
  std::string authority;  ///< as in the field Host
  std::string host;       ///< without the brackets of an IPv6 address
  std::string port;
  std::string path;
};

url_target target_of(const std::string& url) {
  const auto parts = base::split_url(url);
  url_target out;
  out.tls = parts.scheme == "https";
  out.authority = *parts.authority;
  out.path = parts.path.empty() ? "/" : std::string(parts.path);
  if (parts.query) out.path.append("?").append(*parts.query);
  const auto end_of_host = out.authority.rfind(']') == std::string::npos
                               ? out.authority.find(':')
                               : out.authority.find(':', out.authority.rfind(']'));
  out.host = out.authority.substr(0, end_of_host);
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  if (end_of_host != std::string::npos) out.port = out.authority.substr(end_of_host + 1);
  if (out.port.empty()) out.port = out.tls ? "443" : "80";
  return out;
}

message message_of(const request& sent, const url_target& target) {
  message out;
  out.version(11);
  out.method_string(sent.method);
  out.target(target.path);
  out.set(http::field::host, target.authority);
  for (const auto& [name, value] : sent.headers) out.insert(name, value);
  if (!sent.key.empty()) out.set("Idempotency-Key", key_field(sent.key));
  out.set(http::field::connection, "close");
  out.body() = sent.body;
  const bool has_body =
      !sent.body.empty() || sent.method == "POST" || sent.method == "PUT" || sent.method == "PATCH";
  // A POST without a body says so (RFC 9110, section 8.6).
  if (has_body) out.content_length(sent.body.size());
  return out;
}

class exchange {
 public:
  exchange(const request& sent, const transport_params& params)
      : sent_(sent), params_(params), target_(target_of(sent.url)) {}

  asio::awaitable<attempt> run(milliseconds timeout) {
    const auto executor = co_await asio::this_coro::executor;
    deadline_ = asio::steady_timer::clock_type::now() + base::bounded(timeout);
    error_code failed;
    const auto found = co_await find_addresses(target_.host, target_.port, deadline_, failed);
    if (failed)
      co_return fault(failed == asio::error::timed_out ? "no address in time"
                                                       : target_.host + ": " + failed.message());
    // A server that always has another byte ready keeps the limit of a Beast stream waiting.
    const auto socket = std::make_shared<tcp::socket>(executor);
    asio::steady_timer limit(executor, deadline_);
    limit.async_wait([socket](const error_code& canceled) {
      error_code ignored;
      if (!canceled) socket->close(ignored);
    });
    co_await asio::async_connect(*socket, found, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return fault(is_late() ? "no connection in time" : failed.message());
    if (target_.tls) {
      co_await exchange_tls(*socket);
    } else {
      co_await exchange_messages(*socket);
    }
    co_return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_late() const { return asio::steady_timer::clock_type::now() >= deadline_; }

  [[nodiscard]] std::string fault_text(const error_code& failed) const {
    if (is_late()) return "no answer in time";
    if (failed == http::error::end_of_stream || failed == http::error::partial_message ||
        failed == asio::error::eof) {
      return "the connection ended without a whole answer";
    }
    return failed.message();
  }

  attempt fault(std::string text) {
    out_.fault = std::move(text);
    return std::move(out_);
  }

  asio::awaitable<void> exchange_tls(tcp::socket& plain) {
    asio::ssl::context context(asio::ssl::context::tls_client);
    error_code failed;
    if (params_.ca_file.empty()) {
      context.set_default_verify_paths(failed);
    } else {
      context.load_verify_file(params_.ca_file, failed);
    }
    if (failed) {
      out_.fault = "the authorities for certificates can't be read: " + failed.message();
      out_.permanent = true;
      co_return;
    }
    SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    tls_stream stream(plain, context);
    stream.set_verify_mode(asio::ssl::verify_peer);
    stream.set_verify_callback(asio::ssl::host_name_verification(target_.host));
    error_code no_address;
    asio::ip::make_address(target_.host, no_address);
    // An address is no name for SNI (RFC 6066, section 3).
    if (no_address) SSL_set_tlsext_host_name(stream.native_handle(), target_.host.c_str());
    co_await stream.async_handshake(asio::ssl::stream_base::client,
                                    asio::redirect_error(asio::use_awaitable, failed));
    if (failed) {
      out_.permanent = SSL_get_verify_result(stream.native_handle()) != X509_V_OK;
      out_.fault = out_.permanent ? "the certificate is not trusted: " + failed.message()
                                  : "TLS: " + fault_text(failed);
      co_return;
    }
    co_await exchange_messages(stream);
  }

  template <class Stream>
  asio::awaitable<void> exchange_messages(Stream& stream) {
    auto bytes = message_of(sent_, target_);
    // Before the first byte: how many of them arrived is never known.
    out_.sent = true;
    error_code not_written;
    co_await http::async_write(stream, bytes,
                               asio::redirect_error(asio::use_awaitable, not_written));
    // A server that refuses a long body answers and closes before it is all there.
    beast::flat_buffer buffer;
    error_code failed;
    for (int interim = 0; interim <= interim_answers_max && !is_late(); ++interim) {
      http::response_parser<http::string_body> parser;
      parser.header_limit(head_size_max);
      parser.body_limit(params_.max_answer);
      parser.skip(sent_.method == "HEAD");
      co_await http::async_read(stream, buffer, parser,
                                asio::redirect_error(asio::use_awaitable, failed));
      if (failed) {
        out_.permanent = failed == http::error::body_limit;
        out_.fault = out_.permanent ? too_long_text(parser.get().result_int(), params_.max_answer)
                                    : fault_text(not_written ? not_written : failed);
        co_return;
      }
      if (parser.get().result_int() < 200) continue;
      take(parser.get());
      co_return;
    }
    out_.fault = is_late() ? "no answer in time" : interim_fault;
  }

  void take(http::response<http::string_body>& whole) {
    auto& got = out_.answer.emplace();
    got.status = static_cast<std::uint16_t>(whole.result_int());
    for (const auto& field : whole) {
      got.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    got.body = std::move(whole.body());
  }

  const request& sent_;
  const transport_params& params_;
  const url_target target_;
  asio::steady_timer::time_point deadline_;
  attempt out_;
};

}  // namespace

asio::awaitable<attempt> attempt_once(const request& sent, const transport_params& params,
                                      milliseconds timeout) {
  exchange one(sent, params);
  co_return co_await one.run(timeout);
}

}  // namespace v1
}  // namespace onceguard::client
