#include "mcp/upstream_connection.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "tls/session.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds longest_connect{10};
/// So long a server may read nothing while its request is sent.
constexpr std::chrono::seconds longest_stall{20};
constexpr std::size_t piece_size = 32u << 10;

error failure(const char* action, const std::string& why, effect known) {
  return {errc::store_unreachable, std::string(action) + ": " + why, known};
}

/// For co_await: no exception, but an error in `failed`.
auto into(error_code& failed) { return asio::redirect_error(asio::use_awaitable, failed); }

/// Of a connect, which nobody but its time limit cancels.
std::string words_of(const error_code& failed) {
  return failed == asio::error::operation_aborted ? "no answer in time" : failed.message();
}

/// What stays in `failed` where the caller waits and tries again.
error_code fault_of(tls::step state) {
  switch (state) {
    case tls::step::done:
      return {};
    case tls::step::want_read:
    case tls::step::want_write:
      return asio::error::would_block;
    case tls::step::ended:
      return asio::error::eof;
    case tls::step::cut_off:  // what came is perhaps not all
    case tls::step::failed:
      break;
  }
  return asio::error::connection_reset;
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

upstream_connection::upstream_connection(asio::io_context& io, upstream_address address)
    : address_(std::move(address)), resolver_(io), socket_(io) {}
upstream_connection::~upstream_connection() = default;

asio::awaitable<result<void>> upstream_connection::connect() {
  if (socket_.is_open()) co_return result<void>();
  error_code failed;
  const auto found = co_await resolver_.async_resolve(address_.host, address_.port, into(failed));
  if (failed) {
    co_return failure("the server's name can't be resolved", failed.message(), effect::none);
  }
  asio::steady_timer limit(socket_.get_executor(), longest_connect);
  const auto connecting = std::make_shared<bool>(true);
  auto end = [this, still = std::weak_ptr(connecting)](const error_code& cancelled) {
    if (!cancelled && !still.expired()) close();
  };
  limit.async_wait(std::move(end));
  co_await asio::async_connect(socket_, found, into(failed));
  if (failed) co_return failure("the server can't be reached", words_of(failed), effect::none);
  socket_.set_option(tcp::no_delay(true), failed);
  socket_.non_blocking(true, failed);
  if (!address_.tls) co_return result<void>();
  co_return co_await secure();
}

asio::awaitable<result<void>> upstream_connection::secure() {
  static const auto context = tls::make_client_context({});
  const auto fault = [](const std::string& why) {
    return failure("the server's TLS failed", why, effect::none);
  };
  if (!context) co_return fault(context.error().detail);
  session_ = tls::session::connect(*context, socket_.native_handle(), address_.host);
  if (!session_)
    co_return error(errc::invalid_argument, "the server's name can't be used with TLS");
  for (;;) {
    if (!socket_.is_open()) co_return fault("no answer in time");
    const auto state = session_->shake_hands();
    if (state == tls::step::done) co_return result<void>();
    if (state != tls::step::want_read && state != tls::step::want_write) {
      co_return fault(session_->failure());
    }
    const auto failed = co_await wait(state == tls::step::want_read);
    if (failed) co_return fault(words_of(failed));
  }
}

asio::awaitable<error_code> upstream_connection::wait(bool readable) {
  error_code failed;
  co_await socket_.async_wait(readable ? tcp::socket::wait_read : tcp::socket::wait_write,
                              into(failed));
  co_return failed;
}

asio::awaitable<upstream_connection::moved> upstream_connection::read(std::span<char> target) {
  moved out;
  if (!session_) {
    out.bytes = co_await socket_.async_read_some(asio::buffer(target.data(), target.size()),
                                                 into(out.failed));
    co_return out;
  }
  // OpenSSL knows only the number of the socket, which may be another's once it is closed.
  while (socket_.is_open()) {
    const auto got = session_->read(target);
    out.bytes = got.bytes;
    out.failed = fault_of(got.state);
    if (out.failed != asio::error::would_block) co_return out;
    out.failed = co_await wait(got.state == tls::step::want_read);
    if (out.failed) co_return out;
  }
  out.failed = asio::error::operation_aborted;
  co_return out;
}

upstream_connection::moved upstream_connection::write_some(std::string_view bytes) {
  moved out;
  if (!session_) {
    out.bytes = socket_.write_some(asio::buffer(bytes), out.failed);
    return out;
  }
  const auto sent = session_->write(bytes);
  out.bytes = sent.bytes;
  out.failed = fault_of(sent.state);
  return out;
}

asio::awaitable<bool> upstream_connection::wait_to_go_on() {
  const auto patience = std::make_shared<asio::steady_timer>(socket_.get_executor(), longest_stall);
  auto wake = [waiting = std::weak_ptr(patience)](const error_code&) {
    if (const auto held = waiting.lock()) held->cancel();
  };
  socket_.async_wait(tcp::socket::wait_read, wake);
  socket_.async_wait(tcp::socket::wait_write, wake);
  error_code woken;
  co_await patience->async_wait(into(woken));
  error_code ignored;
  socket_.cancel(ignored);  // the other wait
  co_return woken == asio::error::operation_aborted;
}

asio::awaitable<error_code> upstream_connection::send(std::string_view& rest) {
  error_code failed;
  while (!rest.empty()) {
    failed = asio::error::operation_aborted;
    if (!socket_.is_open()) co_return failed;
    const auto sent = write_some(rest);
    rest.remove_prefix(sent.bytes);
    failed = sent.failed;
    if (failed == asio::error::would_block) {
      if (!is_quiet()) co_return error_code();
      failed = asio::error::timed_out;
      const bool woken = co_await wait_to_go_on();
      if (!woken) co_return failed;
    } else if (failed) {
      co_return failed;
    }
  }
  co_return error_code();
}

asio::awaitable<http1::progress> upstream_connection::advance(std::string& why) {
  for (;;) {
    auto step = reader_.next();
    if (step == http1::progress::need_more) {
      const auto got = co_await read(reader_.prepare(piece_size));
      if (!got.failed) {
        reader_.commit(got.bytes);
        continue;
      }
      step = reader_.end_of_input();
      why = got.failed.message();
      // The end of a connection that broke is not that of the answer.
      const bool ended = step == http1::progress::end && got.failed == asio::error::eof;
      co_return ended ? step : http1::progress::error;
    }
    if (step == http1::progress::error) why = reader_.fault().text;
    co_return step;
  }
}

asio::awaitable<result<http_head>> upstream_connection::exchange(const http_request& request) {
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

asio::awaitable<result<std::string>> upstream_connection::read_some() {
  std::string why;
  const auto step = co_await advance(why);
  if (step == http1::progress::end) co_return std::string();
  if (step == http1::progress::body) co_return std::string(reader_.body());
  co_return failure("the server's answer broke off", why, effect::unknown);
}

void upstream_connection::close() noexcept {
  resolver_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

void upstream_connection::begin_anew() {
  reader_.reset();
  keep_ = false;
  last_use_ = base::boot_now();
}

bool upstream_connection::is_quiet() noexcept {
  if (!reader_.idle() || !socket_.is_open()) return false;
  if (session_) return session_->find_data() == tls::step::want_read;
  char byte = 0;
  error_code failed;
  socket_.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, failed);
  return failed == asio::error::would_block;
}

}  // namespace onceguard::mcp
