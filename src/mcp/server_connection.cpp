#include "mcp/server_connection.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/for_ever.hpp"
#include "tls/session.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;
using tls::error_code;
using tls::tcp;

namespace {

constexpr std::chrono::seconds longest_connect{10};
/// So long a server may read nothing while its request is sent.
constexpr std::chrono::seconds longest_refusal{20};
constexpr std::size_t piece_size = 32u << 10;
/// Servers close idle connections after seconds: one that was idle for less is not yet at its end.
constexpr std::chrono::seconds idle_max{1};

error failure(const char* action, const std::string& why, effect known) {
  return {errc::store_unreachable, std::string(action) + ": " + why, known};
}

/// Of a connect, which nobody but its time limit cancels.
std::string words_of(const error_code& failed) {
  const bool late = failed == asio::error::timed_out || failed == asio::error::operation_aborted;
  return late ? "no answer in time" : failed.message();
}

bool has_length(const http_request& request) {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
         request.method == "PATCH";
}

std::string head_of(const http_request& request) {
  std::string out;
  http1::append_request_line(out, request.method, request.target);
  for (const auto& [name, value] : request.fields) http1::append_field(out, name, value);
  if (has_length(request)) http1::append_content_length(out, request.body.size());
  http1::append_end_of_head(out);
  return out;
}

}  // namespace

server_connection::server_connection(asio::io_context& io, server_address address)
    : address_(std::move(address)), resolver_(io), stream_(tcp::socket(io), io) {}

asio::awaitable<result<void>> server_connection::connect() {
  if (stream_.is_open()) co_return result<void>();
  error_code failed;
  const auto found = co_await resolver_.async_resolve(
      address_.host, address_.port, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) {
    co_return failure("the server's name can't be resolved", failed.message(), effect::none);
  }
  const auto until = base::boot_now() + longest_connect;
  std::vector<asio::ip::address> addresses;
  for (const auto& each : found) addresses.push_back(each.endpoint().address());
  const auto port = found.begin()->endpoint().port();
  failed = co_await stream_.connect(addresses, port, longest_connect);
  if (failed) co_return failure("the server can't be reached", words_of(failed), effect::none);
  if (!address_.tls) co_return result<void>();
  const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now());
  co_return co_await secure(std::max(left, milliseconds(1)));
}

asio::awaitable<result<void>> server_connection::secure(milliseconds within) {
  static const auto context = tls::make_client_context({});
  const auto fault = [](const std::string& why) {
    return failure("the server's TLS failed", why, effect::none);
  };
  if (!context) co_return fault(context.error().detail);
  const int socket = stream_.raw().native_handle();
  auto session = tls::session::connect(*context, socket, address_.host);
  if (!session) co_return error(errc::invalid_argument, "the server's name can't be used with TLS");
  const auto failed = co_await stream_.secure(std::move(session), within);
  if (!failed) co_return result<void>();
  const bool refused = failed == asio::error::connection_refused;
  co_return fault(refused ? stream_.encryption()->failure() : words_of(failed));
}

asio::awaitable<error_code> server_connection::send(std::string_view& rest) {
  while (!rest.empty()) {
    const auto sent = stream_.write_now(rest);
    rest.remove_prefix(sent.bytes);
    if (sent.failure == asio::error::would_block) {
      if (!is_quiet()) co_return error_code();
      const auto failed = co_await stream_.wait_either(longest_refusal);
      if (failed) co_return failed;
    } else if (sent.failure) {
      co_return sent.failure;
    }
  }
  co_return error_code();
}

asio::awaitable<http1::progress> server_connection::advance(std::string& why) {
  for (;;) {
    auto step = reader_.next();
    if (step == http1::progress::need_more) {
      const auto got = co_await stream_.read_some(reader_.prepare(piece_size), base::for_ever);
      if (!got.failure) {
        reader_.commit(got.bytes);
        continue;
      }
      step = reader_.end_of_input();
      why = got.failure.message();
      // The end of a connection that broke is not that of the answer.
      const bool ended = step == http1::progress::end && got.failure == asio::error::eof;
      co_return ended ? step : http1::progress::error;
    }
    if (step == http1::progress::error) why = reader_.fault().text;
    co_return step;
  }
}

asio::awaitable<result<http_head>> server_connection::exchange(const http_request& request) {
  const auto bytes = head_of(request) + request.body;
  reader_.answers_to(request.method);
  std::string_view rest = bytes;
  std::string why;
  for (;;) {
    // A server may refuse a request before it has read all of it, and read no more.
    const auto failed = co_await send(rest);
    if (failed == asio::error::timed_out) {
      close();
      co_return failure("the server did not read all of the request", failed.message(),
                        effect::unknown);
    }
    const auto step = co_await advance(why);
    if (step == http1::progress::end) {
      reader_.reset();  // of an answer on the way (1xx)
      continue;
    }
    if (step != http1::progress::head || reader_.head().status == 101) {
      if (failed) why = failed.message();
      co_return failure("the server did not answer", why, effect::unknown);
    }
    const auto& got = reader_.head();
    if (got.status < 200) continue;
    http_head out;
    out.status = got.status;
    out.reason = got.reason;
    out.is_early = rest.find_first_not_of(" \t\r\n") != rest.npos;
    if (out.is_early && got.status < 300) {
      close();
      co_return failure("the server did not read all of the request", "it answered before",
                        effect::unknown);
    }
    for (const auto& field : got.fields) out.fields.add(field.name, field.value);
    keep_ = got.keep_alive && got.body != http1::body_kind::until_eof && rest.empty();
    co_return out;
  }
}

asio::awaitable<result<std::string>> server_connection::read_some() {
  std::string why;
  const auto step = co_await advance(why);
  if (step == http1::progress::end) co_return std::string();
  if (step == http1::progress::body) co_return std::string(reader_.body());
  co_return failure("the server's answer broke off", why, effect::unknown);
}

void server_connection::close() noexcept {
  resolver_.cancel();
  stream_.close();
}

void server_connection::begin_anew() {
  reader_.reset();
  keep_ = false;
  last_use_ = base::boot_now();
}

bool server_connection::is_quiet() noexcept { return reader_.idle() && stream_.quiet_and_open(); }

server_connection_ptr server_connections::make() {
  return std::make_unique<server_connection>(io_, address_);
}

server_connection_ptr server_connections::take() {
  const auto oldest = base::boot_now() - idle_max;
  while (!kept_.empty()) {
    auto last = std::move(kept_.back());
    kept_.pop_back();
    if (last->last_use() <= oldest) {
      kept_.clear();  // the others were used before
    } else if (last->is_quiet()) {
      return last;
    }
  }
  return make();
}

void server_connections::keep(server_connection_ptr used) {
  if (ended_) return;
  used->begin_anew();
  kept_.push_back(std::move(used));
}

void server_connections::end() noexcept {
  ended_ = true;
  kept_.clear();
}

}  // namespace onceguard::mcp
