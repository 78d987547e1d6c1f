#include "gateway/answer_relay.hpp"

#include <array>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/ascii.hpp"
#include "base/clock.hpp"
#include "base/field.hpp"
#include "base/log.hpp"
#include "http/forwarded_fields.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

constexpr std::size_t flush_at = 32 * 1024;
constexpr std::size_t relayed_at_once = 16 * 1024;

enum class framing : std::uint8_t { none, sized, chunked, until_close };

framing framing_of(const http1::head& answer, std::string_view method, std::uint8_t client_minor) {
  if (method == "HEAD" || !may_have_body(answer.status)) return framing::none;
  switch (answer.body) {
    case http1::body_kind::none:
    case http1::body_kind::sized:
      return framing::sized;
    case http1::body_kind::chunked:
    case http1::body_kind::until_eof:
      break;
  }
  return client_minor == 0 ? framing::until_close : framing::chunked;
}

void append_piece(std::string& out, framing framed, std::string_view piece) {
  if (framed == framing::chunked) {
    http1::append_chunk(out, piece);
  } else {
    out += piece;
  }
}

void append_relayed_head(std::string& out, const http1::head& answer, framing framed,
                         const answer_style& style, bool trailers) {
  http1::append_status_line(out, answer.status, answer.reason);
  const http::travel_filter filter(answer.fields);
  bool dated = false;
  for (const auto& f : answer.fields) {
    if (!filter.travels(f.name) || http::ends_here(f.name)) continue;
    http1::append_field(out, f.name, f.value);
    dated = dated || base::iequals(f.name, "date");
  }
  if (!dated) append_date_now(out);
  if (framed == framing::chunked) http1::append_field(out, "Transfer-Encoding", "chunked");
  const auto* announced = base::find_field(answer.fields, "trailer");
  if (trailers && announced != nullptr) http1::append_field(out, "Trailer", announced->value);
  if (framed == framing::sized)
    http1::append_content_length(out, answer.content_length.value_or(0));
  // For HEAD, and with 304, the length is that of the body that is not sent. RFC 9110 section 8.6
  // forbids it with 204.
  if (framed == framing::none && answer.content_length && answer.status != 204) {
    http1::append_content_length(out, *answer.content_length);
  }
  append_connection(out, style);
  http1::append_end_of_head(out);
}

/// The held beginning of the answer is sent: frees its memory.
void empty(std::string& out, byte_reservation* room) {
  if (out.capacity() > 4 * flush_at) std::string().swap(out);
  out.clear();
  if (room != nullptr) room->clear();
}

/// A partial answer must not look complete. Only an answer whose end is the end of the connection
/// could be mistaken for a complete one. If nothing was sent yet, the caller sends a problem
/// answer.
void break_off(session& session, const upstream_connection& upstream, framing framed,
               std::string why, relayed& result) {
  result.why = std::move(why);
  if (!result.begun) return;
  const bool ended_here = !upstream.stream.is_open();
  if (!ended_here)
    base::log(base::event::upstream_broken,
              {{"upstream", session.rule().upstream->name}, {"why", result.why}});
  if (framed == framing::until_close) session.stream().abort();
}

/// The head of the answer, whose status goes into the report.
const http1::head& reported_head(session& session, upstream_connection& upstream) {
  const auto& answer = upstream.reader.head();
  session.report().status = session.report().upstream_status = answer.status;
  session.rule().naming.note(answer.status, answer.fields);
  return answer;
}

}  // namespace

asio::awaitable<relayed> relay_answer(session& session, upstream_connection& upstream,
                                      std::string begun, milliseconds timeout,
                                      byte_reservation* room) {
  relayed result;
  const auto& answer = reported_head(session, upstream);
  const auto& request = session.reader().head();
  const auto framed = framing_of(answer, request.method, request.minor);
  auto style = session.style();
  if (framed == framing::until_close) style.then = after_answer::close;
  const auto write_timeout = session.thread().shared.params.write_timeout;
  const bool trailers = framed == framing::chunked && http::welcomes_trailers(request.fields);
  const auto append_end = [&](std::string& text) {
    if (framed != framing::chunked) return;
    if (!trailers) return http1::append_last_chunk(text);
    append_last_chunk(text, upstream.reader.trailers(), http::travel_filter(answer.fields));
  };
  const session::endless_answer until_drained(
      session, http::is_event_stream(answer.fields) ? &upstream.stream : nullptr);
  std::string out;
  append_relayed_head(out, answer, framed, style, trailers);
  if (!begun.empty()) append_piece(out, framed, begun);
  std::string().swap(begun);
  for (bool ended = false; !ended;) {
    switch (upstream.reader.next()) {
      case http1::progress::body:
        append_piece(out, framed, upstream.reader.body());
        break;
      case http1::progress::end:
        append_end(out);
        ended = true;
        break;
      case http1::progress::need_more: {
        if (!out.empty()) {
          result.begun = true;
          const auto sent = co_await session.stream().write(out, write_timeout);
          if (sent.failure) co_return result;
          empty(out, room);
        }
        const auto read =
            co_await upstream.stream.read_some(upstream.reader.prepare(relayed_at_once), timeout);
        if (read.failure) {
          if (read.failure != asio::error::eof ||
              upstream.reader.end_of_input() != http1::progress::end) {
            break_off(session, upstream, framed,
                      "the answer broke off amid its body: " + read.failure.message(), result);
            co_return result;
          }
          append_end(out);
          ended = true;
          break;
        }
        upstream.reader.commit(read.bytes);
        break;
      }
      case http1::progress::head:
      case http1::progress::error:
        break_off(session, upstream, framed, std::string(upstream.reader.fault().text), result);
        co_return result;
    }
    if (out.size() >= flush_at || (ended && !out.empty())) {
      result.begun = true;
      const auto sent = co_await session.stream().write(out, write_timeout);
      if (sent.failure) co_return result;
      empty(out, room);
    }
  }
  result.upstream_kept = answer.keep_alive && answer.body != http1::body_kind::until_eof;
  result.client_kept = style.then == after_answer::keep;
  co_return result;
}

asio::awaitable<bool> relay_interim(session& session, const http1::head& interim) {
  if (session.reader().head().minor == 0) co_return true;  // HTTP/1.0 has no interim answers
  std::string out;
  http1::append_status_line(out, interim.status, interim.reason);
  const http::travel_filter filter(interim.fields);
  for (const auto& f : interim.fields) {
    if (!filter.travels(f.name) || http::ends_here(f.name)) continue;
    http1::append_field(out, f.name, f.value);
  }
  http1::append_end_of_head(out);
  const auto sent =
      co_await session.stream().write(out, session.thread().shared.params.write_timeout);
  co_return !sent.failure;
}

// ---- a connection that has switched protocols

using clock = base::boot_clock;

namespace {

struct activity {
  clock::time_point last = base::boot_now();
};

/// The deadline of the other direction may cancel a running write: the write is resumed while both
/// ends of the tunnel are open.
asio::awaitable<bool> write_all(async_socket& socket, std::string_view bytes, milliseconds timeout,
                                const async_socket& source) {
  while (!bytes.empty()) {
    const auto sent = co_await socket.write(bytes, timeout);
    bytes.remove_prefix(sent.bytes);
    if (sent.failure && sent.failure != asio::error::operation_aborted) co_return false;
    if (sent.failure && !(socket.is_open() && source.is_open())) co_return false;
  }
  co_return true;
}

asio::awaitable<void> pump(async_socket& socket, async_socket& target, activity& both,
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
