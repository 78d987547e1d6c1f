#include "gateway/session.hpp"

#include <onceguard/token_verifier.hpp>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "gateway/guarded_exchange.hpp"
#include "gateway/observed_request.hpp"
#include "http/admission.hpp"
#include "http/operation.hpp"
#include "http/target.hpp"
#include "http/trace_context.hpp"
#include "tls/session.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using clock = base::boot_clock;

namespace {

constexpr std::size_t read_size = 4096;
constexpr milliseconds linger_time{2'000};
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
      peer_(peer_address(stream_.raw())),
      peer_trusted_(listed(thread.shared.trusted, peer_)),
      report_(thread.shared.observers) {
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
  const bool unread = sending_ && late;
  if (endless_ != nullptr && late) {
    endless_->close();
    stream_.cancel();
  }
  if (idle_ || unread || (reading_ && too_late_to_read())) stream_.cancel();
}

bool session::too_late_to_read() const noexcept {
  const auto& shared = thread_.shared;
  return uploading_ ? shared.uploads_end : shared.requests_end;
}

/// False: there is no connection to serve.
asio::awaitable<bool> session::begin_tls() {
  const auto settings = thread_.shared.tls.latest();
  if (!settings) co_return true;
  idle_ = true;  // a drain need not wait for it
  const auto failure =
      co_await stream_.secure(tls::session::accept(settings, stream_.raw().native_handle()),
                              thread_.shared.params.header_timeout);
  idle_ = false;
  const auto* encryption = stream_.encryption();
  if (!failure) {
    certificate_ = encryption->peer(thread_.shared.params.tls_client_name);
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
  for (;;) {
    const auto got = co_await read_head();
    if (got == http1::progress::error) {
      const auto& fault = reader_.fault();
      http::problem_detail more{std::string(fault.text)};
      more.status = fault.status;
      consumed_ = false;
      report_.begin(peer_);
      co_await refuse(http::problem::bad_request, std::move(more));
      break;
    }
    if (got != http1::progress::head) break;
    const bool go_on = co_await handle();
    report_.finish();
    if (!go_on) break;
    reader_.reset();
    uploading_ = false;
    if (out_.capacity() > 4 * read_size) std::string().swap(out_);
    rule_ = nullptr;
    routing_.reset();
  }
  stream_.close();
}

asio::awaitable<http1::progress> session::read_head() {
  const auto& params = thread_.shared.params;
  clock::time_point head_end{};
  for (;;) {
    const auto got = reader_.next();
    if (got != http1::progress::need_more) co_return got;
    idle_ = reader_.idle();
    if (idle_ ? thread_.shared.draining.load() : too_late_to_read()) {
      co_return http1::progress::need_more;
    }
    if (idle_) {
      head_end = {};
    } else if (head_end == clock::time_point{}) {
      head_end = base::boot_now() + params.header_timeout;
    }
    const auto timeout = idle_ ? params.idle_timeout : left_until(head_end);
    const auto room = reader_.prepare(read_size);
    reading_ = true;
    const auto read = co_await stream_.read_some(room, timeout);
    reading_ = idle_ = false;
    if (read.failure) co_return http1::progress::need_more;
    reader_.commit(read.bytes);
  }
}

http1::progress session::advance_now() {
  const auto got = reader_.next();
  if (got == http1::progress::end) consumed_ = true;
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
    reading_ = true;
    const auto read = co_await stream_.read_some(room, within);
    reading_ = false;
    too_slow_ = read.failure == asio::error::timed_out;
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
  const bool keep = head.keep_alive && consumed_ && !thread_.shared.draining;
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
  sending_ = true;
  if (bodiless || answer.body.size() <= small_body) {  // one buffer is cheaper than two
    if (!bodiless) out_ += answer.body;
    sent = stream_.write_now(out_);
    // The kernel nearly always takes the whole answer at once, and no wait is needed.
    if (sent.bytes < out_.size()) sent = co_await stream_.write_on(sent, out_, timeout);
  } else {
    stream_.hand_over_little();
    const answer_readers::reading listed(thread_.shared.readers, thread_.io, stream_);
    sent = co_await stream_.write(out_, answer.body, timeout);
  }
  sending_ = false;
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
  stream_.shut_sending();
  const auto end = base::boot_now() + linger_time;
  std::array<char, read_size> dropped;
  while (base::boot_now() < end) {
    const auto read = co_await stream_.read_some(dropped, left_until(end));
    if (read.failure) break;
  }
}

bool session::scope_changed() const {
  if (thread_.routing == routing_) return false;
  const auto& head = reader_.head();
  const auto* host = base::find_field(head.fields, "host");
  const auto* now = thread_.routing->match(host == nullptr ? "" : host->value,
                                           http::path_to_match(head.target), head.method);
  return now == nullptr || now->rule.policy.scope != rule_->rule.policy.scope;
}

void session::begin_report() noexcept {
  report_.begin(peer_);
  if (thread_.shared.observers.empty()) return;
  const auto& head = reader_.head();
  report_.method = head.method;
  report_.path = http::split_target(head.target).path;
  report_.trace_id = http::find_trace_id(head.fields);
  if (const auto* tracer = thread_.shared.tracer) {
    trace_ = tracer->begin(http::find_trace_parent(head.fields));
    report_.trace = &trace_;
  }
}

fingerprint_input session::make_input(const http::scope_match& under, std::string_view body) const {
  const auto& head = reader_.head();
  http::request request;
  request.method = head.method;
  request.target = head.target;
  request.fields = head.fields;
  request.body = body;
  return http::make_input(request, rule_->rule.policy, rule_->upstream->identity, under);
}

asio::awaitable<http::admission> session::admit(const http::request& request) {
  if (rule_->rule.webhook) co_return http::admit_without_key(request);
  const auto& policy = rule_->rule.policy;
  const auto token = http::find_token(policy, request);
  if (!token.empty() && !policy.tokens->knows(token)) {
    std::string copy(token);
    co_await thread_.tokens->verify(policy.tokens, std::move(copy));
  }
  co_return http::admit(policy, request, scope_);
}

asio::awaitable<bool> session::handle() {
  const auto& head = reader_.head();
  begin_report();
  consumed_ = head.body == http1::body_kind::none;
  const auto& params = thread_.shared.params;
  pace_ = client_pace(params.body_timeout, params.min_client_rate);
  routing_ = thread_.routing;
  if (head.method == "CONNECT") {
    http::problem_detail more{std::string("CONNECT is not offered.")};
    more.status = 501;
    co_return co_await refuse(http::problem::bad_request, std::move(more));
  }
  const auto circle = http::circle_fault(head.fields, thread_.shared.loop_mark, params.max_hops);
  if (!circle.empty()) {
    http::problem_detail more{std::string(circle)};
    co_return co_await refuse(http::problem::loop_detected, std::move(more));
  }
  const auto* host = base::find_field(head.fields, "host");
  const auto path = http::path_to_match(head.target);
  rule_ = routing_->match(host == nullptr ? "" : host->value, path, head.method);
  if (rule_ == nullptr) {
    http::problem_detail more{std::string("No rule of this gateway fits the host and path.")};
    more.status = 404;
    co_return co_await refuse(http::problem::bad_request, std::move(more));
  }
  if (routing_->leads_around_a_key(*rule_, host == nullptr ? "" : host->value,
                                   http::split_target(head.target).path, head.method)) {
    http::problem_detail more{std::string(http::around_a_key_text)};
    co_return co_await refuse(http::problem::bad_request, std::move(more));
  }
  if (routing_table::leads_around_a_signature(*rule_, http::split_target(head.target).path,
                                              head.method)) {
    http::problem_detail more{std::string(http::around_a_signature_text)};
    co_return co_await refuse(http::problem::bad_request, std::move(more));
  }
  report_.route = rule_->name;
  report_.route_index = rule_->index;
  if (peer_trusted_) origin_ = http::find_origin(peer_, head.fields, thread_.shared.trusted);
  http::request request;
  request.method = head.method;
  request.target = head.target;
  request.fields = head.fields;
  request.client_certificate = certificate_;
  request.client_address = peer_trusted_ ? std::string_view(origin_.address) : peer_;
  request.credential_verified = peer_trusted_;
  report_.client = request.client_address;
  auto admitted = co_await admit(request);
  if (observes(rule_->rule.policy, admitted, head.fields)) {
    report_.upstream = rule_->upstream->name;
    observed_request observed(*this, std::move(admitted), request, scope_);
    const bool go_on = co_await forward_unguarded(*this, &observed);
    observed.count();
    co_return go_on;
  }
  switch (admitted.kind) {
    case http::admission_kind::pass:
      report_.outcome = http::request_outcome::unguarded;
      report_.why_unguarded = admitted.why;
      report_.upstream = rule_->upstream->name;
      co_return co_await forward_unguarded(*this);
    case http::admission_kind::refuse: {
      http::problem_detail more{std::move(admitted.detail)};
      co_return co_await refuse(admitted.refusal, std::move(more));
    }
    case http::admission_kind::guard:
      break;
  }
  guarded_exchange exchange(*this, std::move(admitted));
  co_return co_await exchange.serve();
}

}  // namespace onceguard::gateway
