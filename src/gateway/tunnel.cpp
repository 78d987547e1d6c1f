#include "gateway/tunnel.hpp"

#include <array>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/clock.hpp"
#include "http/forwarding.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using clock = base::boot_clock;

namespace {

struct activity {
  clock::time_point last = base::boot_now();
};

/// The deadline of the other direction may cancel a running write: the write is resumed while both
/// ends of the tunnel are open.
asio::awaitable<bool> write_all(timed_socket& socket, std::string_view bytes, milliseconds timeout,
                                const timed_socket& source) {
  while (!bytes.empty()) {
    const auto sent = co_await socket.write(bytes, timeout);
    bytes.remove_prefix(sent.bytes);
    if (sent.failure && sent.failure != asio::error::operation_aborted) co_return false;
    if (sent.failure && !(socket.is_open() && source.is_open())) co_return false;
  }
  co_return true;
}

asio::awaitable<void> pump(timed_socket& socket, timed_socket& target, activity& both,
                           const gateway_params& params) {
  std::array<char, 16 * 1024> buffer;
  for (;;) {
    const auto read = co_await socket.read_some(buffer, params.idle_timeout);
    if (read.failure) {
      const bool cancelled =
          read.failure == asio::error::timed_out || read.failure == asio::error::operation_aborted;
      const bool open = socket.is_open() && target.is_open();
      if (cancelled && open && base::boot_now() - both.last < params.idle_timeout) continue;
      break;
    }
    both.last = base::boot_now();
    if (!co_await write_all(target, std::string_view(buffer.data(), read.bytes),
                            params.write_timeout, socket)) {
      break;
    }
  }
  // The end of one direction is forwarded; the other direction may still have data.
  target.shut_sending();
}

}  // namespace

asio::awaitable<void> tunnel(session& session, upstream_connection& upstream) {
  using namespace asio::experimental::awaitable_operators;
  const auto& params = session.thread().shared.params;
  const auto& answer = upstream.reader.head();
  std::string out;
  http1::append_status_line(out, answer.status, answer.reason);
  const http::travel_filter filter(answer.fields);
  for (const auto& f : answer.fields) {
    if (filter.travels(f.name)) http1::append_field(out, f.name, f.value);
    if (base::iequals(f.name, "upgrade")) http1::append_field(out, "Upgrade", f.value);
  }
  http1::append_field(out, "Connection", "Upgrade");
  http1::append_end_of_head(out);
  out += upstream.reader.unread();
  session.report().status = session.report().upstream_status = answer.status;
  const session::endless_answer until_drained(session, &upstream.stream);
  auto& client = session.stream();
  if (!co_await write_all(client, out, params.write_timeout, upstream.stream)) co_return;
  const std::string early(session.reader().unread());
  if (!co_await write_all(upstream.stream, early, params.write_timeout, client)) co_return;
  activity both;
  co_await (pump(client, upstream.stream, both, params) &&
            pump(upstream.stream, client, both, params));
}

}  // namespace onceguard::gateway
