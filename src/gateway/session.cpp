#include "gateway/session.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/field.hpp"
#include "base/log.hpp"
#include "tls/session.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using clock = base::boot_clock;

namespace {

constexpr std::size_t read_size = 4096;
// Who still sends a request that was refused is read on: for so long in all, and so long without
// another byte.
constexpr milliseconds linger_time{30'000};
constexpr milliseconds linger_pause{2'000};
/// So long may a request take to come after the answer before it, or after the connect.
constexpr milliseconds last_call{500};
constexpr std::string_view plain_http_refusal =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 32\r\n"
    "Connection: close\r\n\r\nThis port is for https:// alone.";

std::string peer_address(const tcp::socket& socket) {
  error_code ec;
  const auto peer = socket.remote_endpoint(ec);
  if (ec) return "unknown";
  auto address = peer.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return address.to_string();
}

bool listed(const std::vector<http::address_block>& blocks, std::string_view address) {
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const http::address_block& b) { return b.contains(address); });
}

milliseconds left_until(clock::time_point end) {
  return std::chrono::ceil<milliseconds>(std::max(end - base::boot_now(), clock::duration::zero()));
}

}  // namespace

session::session(io_thread& thread, tcp::socket socket)
    : thread_(thread),
      stream_(std::move(socket), thread.io),
      reader_(http1::reader::kind::request,
              http1::limits{.head_bytes_max = thread.shared.params.max_header_bytes,
                            .header_count_max = thread.shared.params.max_header_count}),
      peer_{peer_address(stream_.raw())},
      report_(thread.shared.observers) {
  peer_.trusted = listed(thread.shared.trusted, peer_.address);
  stream_.limit_slowness(thread.shared.params.min_client_rate);
  thread_.sessions.insert(this);
}

session::~session() {
  thread_.sessions.erase(this);
  thread_.shared.connections.fetch_sub(1, std::memory_order_relaxed);
}

asio::awaitable<void> session::run(std::unique_ptr<session> self) { co_await self->serve(); }

void session::drain() noexcept {
  const bool late = thread_.shared.uploads_end;
  const bool unread = phase_ == phase::sending && late;
  if (endless_ != nullptr && late) {
    endless_->close();
    stream_.cancel();
  }
  const bool waits = phase_ == phase::reading && too_late_to_read();
  if (phase_ == phase::idle) stream_.limit_reading(idle_left());
  if (unread || waits) stream_.cancel();
}

milliseconds session::idle_left() const noexcept {
  const auto& shared = thread_.shared;
  if (!shared.draining) return shared.params.idle_timeout;
  const auto until = std::max(idle_since_ + last_call, shared.idle_end.load());
  // What has arrived when the time is over is read: a request that the client could not know to be
  // late is answered.
  return std::clamp(left_until(until), milliseconds(1), shared.params.idle_timeout);
}

bool session::too_late_to_read() const noexcept {
  const auto& shared = thread_.shared;
  return arrival_ == arrival::forwarded ? shared.uploads_end : shared.requests_end;
}

/// False: there is no connection to serve.
asio::awaitable<bool> session::begin_tls() {
  const auto settings = thread_.shared.tls.latest();
  if (!settings) co_return true;
  const auto failure =
      co_await stream_.secure(tls::session::accept(settings, stream_.raw().native_handle()),
                              thread_.shared.params.header_timeout);
  phase_ = phase::working;
  const auto* encryption = stream_.encryption();
  if (!failure) {
    peer_.certificate = encryption->peer(thread_.shared.params.tls_client_name);
    co_return true;
  }
  if (encryption != nullptr && encryption->met_plain_http()) {
    error_code ignored;  // a client that does not take it at once gets none
    stream_.raw().write_some(asio::buffer(plain_http_refusal), ignored);
  }
  co_return false;
}

asio::awaitable<void> session::serve() {
  if (!co_await begin_tls()) co_return stream_.close();
  const auto& params = thread_.shared.params;
  for (;;) {
    const auto got = co_await read_head();
    if (got == http1::progress::error) {
      const auto& fault = reader_.fault();
      http::problem_detail more{std::string(fault.text)};
      more.status = fault.status;
      arrival_ = arrival::held;
      report_.begin(peer_.address);
      co_await refuse(http::problem::bad_request, std::move(more));
      break;
    }
    if (got != http1::progress::head) break;
    report_.begin(peer_.address);
    if (reader_.head().body == http1::body_kind::none) set_consumed();
    pace_ = tls::transfer_pace(params.body_timeout, params.min_client_rate);
    if (!co_await serve_request(*this)) break;
    reader_.reset();
    arrival_ = arrival::held;
    if (out_.capacity() > 4 * read_size) std::string().swap(out_);
  }
  stream_.close();
}

asio::awaitable<http1::progress> session::read_head() {
  const auto& params = thread_.shared.params;
  clock::time_point head_end{};
  bool waited = false;
  for (;;) {
    const auto got = reader_.next();
    if (got != http1::progress::need_more) co_return got;
    const bool idle = reader_.idle();
    if (!idle && too_late_to_read()) co_return http1::progress::need_more;
    if (idle) {
      if (!std::exchange(waited, true)) idle_since_ = base::boot_now();
      head_end = {};
    } else if (head_end == clock::time_point{}) {
      head_end = base::boot_now() + params.header_timeout;
    }
    // One deadline for all of the head: a byte now and then must not keep it open.
    const auto timeout = idle ? idle_left() : left_until(head_end);
    const auto room = reader_.prepare(read_size);
    phase_ = idle ? phase::idle : phase::reading;
    const auto read = co_await stream_.read_some(room, timeout);
    phase_ = phase::working;
    if (read.failure) co_return http1::progress::need_more;
    reader_.commit(read.bytes);
  }
}

http1::progress session::advance_now() {
  const auto got = reader_.next();
  if (got == http1::progress::end) set_consumed();
  return got;
}

asio::awaitable<http1::progress> session::advance(milliseconds timeout) {
  for (;;) {
    const auto got = advance_now();
    if (got != http1::progress::need_more) co_return got;
    if (too_late_to_read()) co_return http1::progress::need_more;
    const auto room = reader_.prepare(4 * read_size);
    const auto within = pace_.left(timeout);
    const auto begun = base::boot_now();
    phase_ = phase::reading;
    const auto read = co_await stream_.read_some(room, within);
    phase_ = phase::working;
    if (read.failure == asio::error::timed_out) arrival_ = arrival::late;
    if (read.failure) co_return http1::progress::need_more;
    // This process may have been stopped meanwhile, and that time must not count against the
    // client.
    const auto took = std::chrono::duration_cast<milliseconds>(base::boot_now() - begun);
    pace_.waited(std::min(took, within), read.bytes);
    reader_.commit(read.bytes);
  }
}

answer_style session::style(bool replayed) const noexcept {
  answer_style out;
  out.replayed = replayed;
  const auto& head = reader_.head();
  out.client_minor = head.minor;
  const bool keep = head.keep_alive && request_consumed() && !thread_.shared.draining;
  out.then = keep ? after_answer::keep : after_answer::close;
  return out;
}

asio::awaitable<bool> session::send(const answer& answer, answer_style style,
                                    const extra_fields& extra) {
  report_.status = answer.status;
  out_.clear();
  append_answer_head(out_, answer, style, extra);
  // Content-Length is then the length of the answer to a GET (RFC 9110 section 9.3.2).
  const bool bodiless = !may_have_body(answer.status) || reader_.head().method == "HEAD";
  transfer sent;
  const auto timeout = thread_.shared.params.write_timeout;
  phase_ = phase::sending;
  if (bodiless || answer.body.size() <= small_body) {  // one buffer is cheaper than two
    if (!bodiless) out_ += answer.body;
    sent = stream_.write_now(out_);
    // The kernel nearly always takes the whole answer at once, and no wait is needed.
    if (sent.bytes < out_.size()) sent = co_await stream_.write_on(sent, out_, timeout);
  } else {
    stream_.hand_over_little();
    const receiving_clients::reading listed(thread_.shared.readers, thread_.io, stream_);
    sent = co_await stream_.write(out_, answer.body, timeout);
  }
  phase_ = phase::working;
  co_return !sent.failure && style.then == after_answer::keep;
}

asio::awaitable<bool> session::send_problem(http::problem which, http::problem_detail more) {
  report_.problem = http::info_of(which).type;
  const auto* policy = rule_ == nullptr ? nullptr : &rule_->rule.policy;
  auto value = http::problem_answer(which, thread_.shared.params.problem_base, more, policy);
  if (policy != nullptr && !policy->cors.empty()) {
    const auto* origin = base::find_field(reader_.head().fields, "origin");
    if (origin != nullptr) http::permit_origin(value, *policy, origin->value);
  }
  co_return co_await send(value, style());
}

asio::awaitable<bool> session::refuse(http::problem which, http::problem_detail more) {
  const bool go_on = co_await send_problem(which, std::move(more));
  if (!go_on) co_await linger();
  co_return go_on;
}

asio::awaitable<void> session::linger() {
  report_.finish();
  // RFC 9112 section 9.6: to close with bytes unread resets the connection, and the reset may erase
  // the answer before the client has read it.
  stream_.shut_sending();
  const auto end = base::boot_now() + linger_time;
  std::array<char, read_size> dropped;
  while (base::boot_now() < end && !too_late_to_read()) {
    const auto read = co_await stream_.read_some(dropped, std::min(linger_pause, left_until(end)));
    if (read.failure) break;
  }
}

}  // namespace onceguard::gateway
