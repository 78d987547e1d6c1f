#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/ascii.hpp"
#include "base/clock.hpp"
#include "base/field.hpp"
#include "base/log.hpp"
#include "gateway/answer_relay.hpp"
#include "gateway/client_watch.hpp"
#include "gateway/message_heads.hpp"
#include "gateway/observed_request.hpp"
#include "gateway/session.hpp"
#include "gateway/upstream_call.hpp"
#include "gateway/upstream_pool.hpp"
#include "http/forwarded_fields.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using clock = base::boot_clock;

namespace {

constexpr std::size_t gather_max = 64 * 1024;  // of a body that is collected before the first write
constexpr milliseconds no_limit{std::chrono::hours(24 * 365)};
// How much of an answer's head is still read after its deadline: what came in time may be in the
// kernel.
constexpr std::size_t late_max = 64 * 1024;

/// Whether the upgrade may be forwarded. An upgrade to HTTP/2 may not, because the requests after
/// it would bypass the rules of the routes.
bool may_upgrade(const http1::head& head) {
  if (!head.upgrade) return false;
  bool may = true;
  for (const auto& f : head.fields) {
    if (!base::iequals(f.name, "upgrade")) continue;
    base::each_list_element(f.value, [&](std::string_view protocol) {
      if (base::iequals(protocol.substr(0, 3), "h2c")) may = false;
    });
  }
  return may;
}

/// One unguarded request that is being forwarded.
class passthrough {
 public:
  /// `observed` may be null.
  passthrough(session& session, observed_request* observed)
      : session_(session),
        params_(session.thread().shared.params),
        observed_(observed),
        client_(session) {}

  asio::awaitable<bool> run();

 private:
  /// How much of the request has gone upstream.
  enum class upload : std::uint8_t {
    partial,    ///< the rest of its body has yet to come
    whole,      ///< all of it stands in `out_`
    pumping,    ///< the rest of its body is sent while the answer is read
    last,       ///< the same; the last piece is being sent
    sent,       ///< all of it was given to the kernel
    unsent,     ///< all of it was read, and the upstream did not take it
    stalled,    ///< the rest of it was not wanted any more
    broke_off,  ///< the client is gone, or sent what is malformed
  };
  enum class reply : std::uint8_t {
    awaited,
    missing,    ///< none came, or none that can be forwarded
    passed,     ///< a part of it may have got to the client
    tunnelled,  ///< both connections have become a tunnel
  };

  void write_head();
  [[nodiscard]] bool gather();
  [[nodiscard]] bool is_chunked() const noexcept {
    return session_.head().body == http1::body_kind::chunked;
  }
  /// Whether the body was read to its end.
  [[nodiscard]] bool has_whole_body() const noexcept {
    return upload_ == upload::whole || upload_ == upload::last || upload_ == upload::sent ||
           upload_ == upload::unsent;
  }
  [[nodiscard]] bool is_pumping() const noexcept {
    return upload_ == upload::pumping || upload_ == upload::last;
  }
  [[nodiscard]] bool may_repeat() const noexcept;
  asio::awaitable<bool> exchange();
  asio::awaitable<void> pump_body();
  asio::awaitable<upload> pump_pieces();
  asio::awaitable<void> pass_answer();
  asio::awaitable<reply> pass_answers();
  /// Starts the upstream's time to answer.
  void begin_waiting();
  asio::awaitable<http1::progress> read_answer_head();
  asio::awaitable<transfer> read_answer(std::span<char> room);
  asio::awaitable<bool> give_up();
  void append_body(std::string_view piece);
  void append_end();
  /// The client is gone and can't be answered.
  [[nodiscard]] bool client_gone() const noexcept {
    return upload_ == upload::broke_off || client_.client_left();
  }

  session& session_;
  const gateway_params& params_;
  observed_request* const observed_;
  client_watch client_;
  upstream_ptr upstream_;
  std::string out_;  // what is sent next
  upload upload_ = upload::partial;
  reply reply_ = reply::awaited;
  clock::time_point answer_until_{};
  std::size_t late_ = 0;  // bytes of the answer that were read after the deadline
  std::string why_;       // what is wrong with the answer
  error_code failure_;
  relayed result_;
};

void passthrough::append_body(std::string_view piece) {
  if (observed_ != nullptr) observed_->take(piece);
  if (is_chunked()) {
    http1::append_chunk(out_, piece);
  } else {
    out_ += piece;
  }
}

void passthrough::append_end() {
  if (!is_chunked()) return;
  const http::travel_filter filter(session_.head().fields, session_.rule().rule.policy);
  append_last_chunk(out_, session_.reader().trailers(), filter);
}

void passthrough::write_head() {
  const auto& head = session_.head();
  const http::travel_filter filter(head.fields, session_.rule().rule.policy);
  append_upstream_head(out_, head, *session_.rule().upstream, filter, session_.hop(), true);
  if (is_chunked()) {
    http1::append_field(out_, "Transfer-Encoding", "chunked");
    if (const auto* announced = base::find_field(head.fields, "trailer"); announced != nullptr) {
      http1::append_field(out_, "Trailer", announced->value);
    }
  } else if (head.content_length) {
    http1::append_content_length(out_, *head.content_length);
  }
  if (may_upgrade(head)) {
    http1::append_field(out_, "Connection", "Upgrade");
    for (const auto& f : head.fields) {
      if (base::iequals(f.name, "upgrade")) http1::append_field(out_, "Upgrade", f.value);
    }
  } else if (head.minor == 1 && http::welcomes_trailers(head.fields)) {
    http1::append_field(out_, "Connection", "TE");
    http1::append_field(out_, "TE", "trailers");
  }
  http1::append_end_of_head(out_);
}

/// Collects the part of the body that has arrived; false if the body is malformed.
bool passthrough::gather() {
  if (session_.request_consumed()) upload_ = upload::whole;
  while (upload_ == upload::partial && out_.size() < gather_max) {
    switch (session_.reader().next()) {
      case http1::progress::body:
        append_body(session_.reader().body());
        break;
      case http1::progress::end:
        append_end();
        upload_ = upload::whole;
        session_.set_consumed();
        break;
      case http1::progress::need_more:
        return true;
      case http1::progress::head:
      case http1::progress::error:
        return false;
    }
  }
  return true;
}

/// Whether the request may be sent again, as far as HTTP can tell (RFC 9110 section 9.2.2): the
/// method is safe, and a kept connection may have ended just before the request. All of it must
/// still be there, which it is unless its body was pumped.
bool passthrough::may_repeat() const noexcept {
  if (!upstream_->reused || !has_whole_body() || out_.empty()) return false;
  const auto method = session_.head().method;
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

asio::awaitable<bool> passthrough::run() {
  write_head();
  if (!gather()) {
    http::problem_detail more{std::string(session_.reader().fault().text)};
    co_return co_await session_.refuse(http::problem::bad_request, std::move(more));
  }
  if (observed_ != nullptr && upload_ == upload::whole) observed_->whole();
  const auto& address = session_.rule().upstream->address;
  const auto begun = session_.report().begin_step(&http::request_report::upstream_begin);
  auto connection = co_await session_.thread().pool.take(address, false);
  for (int attempt = 0;; ++attempt) {
    if (!connection) {
      base::log(base::event::upstream_unreachable,
                {{"upstream", session_.rule().upstream->name}, {"why", connection.error().detail}});
      co_return co_await session_.refuse(problem_of_no_connection(connection.error()),
                                         http::problem_detail());
    }
    upstream_ = std::move(*connection);
    upstream_->reader.answers_to(session_.head().method);
    if (co_await exchange()) break;
    if (client_gone()) co_return false;
    if (failure_ != asio::error::timed_out) session_.thread().pool.broke(*upstream_);
    if (why_.empty()) why_ = upstream_->why();
    if (attempt > 0 || !may_repeat()) co_return co_await give_up();
    // A new one: another kept connection may have ended as well.
    connection = co_await session_.thread().pool.connect_onward(address);
  }
  client_.end();
  session_.report().upstream_time = session_.report().since(begun);
  if (session_.client_too_slow() && reply_ == reply::missing) {
    upstream_.reset();
    co_return co_await session_.refuse(http::problem::request_timeout, http::problem_detail());
  }
  if (reply_ == reply::tunnelled) co_return false;
  if (result_.upstream_kept && upload_ == upload::sent) {
    session_.thread().pool.keep(std::move(upstream_));
  }
  upstream_.reset();  // no service waits for a client whose request is only dropped
  if (!has_whole_body() && !client_gone()) co_await session_.linger();
  co_return result_.client_kept&& has_whole_body();
}

/// False: no answer came.
asio::awaitable<bool> passthrough::exchange() {
  using namespace asio::experimental::awaitable_operators;
  reply_ = reply::awaited;
  if (observed_ != nullptr) observed_->begin_sending();
  client_.begin(*upstream_);
  const auto sent = co_await upstream_->stream.write(out_, params_.write_timeout);
  if (has_whole_body()) {
    // Even after a failed write, there may be an answer to read.
    failure_ = sent.failure;
    upload_ = sent.failure ? upload::unsent : upload::sent;
    begin_waiting();
    co_await pass_answer();
    co_return reply_ != reply::missing;
  }
  upload_ = upload::pumping;
  session_.begin_upload();
  out_.clear();
  co_await (pump_body() && pass_answer());
  co_return reply_ != reply::missing || client_gone();
}

asio::awaitable<void> passthrough::pump_body() {
  client_.upload_begins();
  upload_ = co_await pump_pieces();
  client_.upload_ended();
  begin_waiting();
  upstream_->stream.limit_reading(session_.rule().rule.policy.upstream_timeout);
}

void passthrough::begin_waiting() {
  answer_until_ = base::boot_now() + session_.rule().rule.policy.upstream_timeout;
  late_ = 0;
}

asio::awaitable<passthrough::upload> passthrough::pump_pieces() {
  while (reply_ == reply::awaited) {
    const auto got = co_await session_.advance(params_.body_timeout);
    if (reply_ != reply::awaited) break;
    client_.upload_moved();
    if (got == http1::progress::body) {
      append_body(session_.reader().body());
    } else if (got == http1::progress::end) {
      append_end();
      upload_ = upload::last;
      if (observed_ != nullptr) observed_->whole();
    } else {
      // The client is gone or the body is malformed: the upstream must not take the partial request
      // for a complete one.
      upstream_->stream.close();
      co_return upload::broke_off;
    }
    const auto sent = co_await upstream_->stream.write(out_, params_.write_timeout);
    out_.clear();
    const bool last = upload_ == upload::last;
    // If the write failed, the answer, if there is one, has the reason.
    if (sent.failure) co_return last ? upload::unsent : upload::stalled;
    if (last) co_return upload::sent;
  }
  co_return upload::stalled;
}

asio::awaitable<http1::progress> passthrough::read_answer_head() {
  for (;;) {
    const auto got = upstream_->reader.next();
    if (got == http1::progress::error) why_ = upstream_->reader.fault().text;
    if (got != http1::progress::need_more) co_return got;
    const auto read = co_await read_answer(upstream_->reader.prepare(4096));
    if (read.failure) {
      failure_ = read.failure;
      co_return http1::progress::need_more;
    }
    upstream_->reader.commit(read.bytes);
  }
}

/// Interim answers do not extend the upstream's time.
asio::awaitable<transfer> passthrough::read_answer(std::span<char> room) {
  auto& stream = upstream_->stream;
  if (is_pumping()) co_return co_await stream.read_some(room, no_limit);
  const auto left = std::chrono::ceil<milliseconds>(answer_until_ - base::boot_now());
  if (left.count() > 0) co_return co_await stream.read_some(room, left);
  // This process may have been stopped meanwhile.
  auto out = stream.read_now(room);
  late_ += out.bytes;
  if (late_ > late_max || out.failure == asio::error::would_block)
    out.failure = asio::error::timed_out;
  co_return out;
}

asio::awaitable<void> passthrough::pass_answer() {
  reply_ = co_await pass_answers();
  if (!has_whole_body()) session_.stream().cancel();  // ends pump_body() if it still waits
}

asio::awaitable<passthrough::reply> passthrough::pass_answers() {
  for (;;) {
    if (co_await read_answer_head() != http1::progress::head) co_return reply::missing;
    const auto& answer = upstream_->reader.head();
    if (answer.status == 101) {
      // While the request is being forwarded, a tunnel would be a second reader of the client.
      const bool wanted = may_upgrade(session_.head());
      if (!wanted || is_pumping()) {
        why_ = wanted ? "it switched protocols before the request was whole"
                      : "it switched protocols unasked";
        co_return reply::missing;
      }
      client_.end();
      co_await tunnel(session_, *upstream_);
      co_return reply::tunnelled;
    }
    if (answer.status >= 200) {
      if (observed_ != nullptr) observed_->answered(answer);
      result_ = co_await relay_answer(session_, *upstream_, std::string(), params_.idle_timeout);
      why_ = result_.why;
      if (observed_ != nullptr && !why_.empty()) observed_->broke_off();
      co_return result_.begun ? reply::passed : reply::missing;
    }
    const bool passed = co_await relay_interim(session_, answer);
    if (!passed || upstream_->reader.next() != http1::progress::end) co_return reply::missing;
    upstream_->reader.reset();
  }
}

/// Answers the client when no answer came and the request can't be sent again.
asio::awaitable<bool> passthrough::give_up() {
  if (client_gone()) co_return false;
  const auto which = failure_ == asio::error::timed_out ? http::problem::upstream_timeout
                                                        : http::problem::upstream_broken;
  if (why_.empty()) why_ = failure_ ? failure_.message() : "no usable answer";
  base::log(http::event_of(which), {{"upstream", session_.rule().upstream->name}, {"why", why_}});
  http::problem_detail more{std::string("The service gave no usable answer.")};
  upstream_.reset();
  co_return co_await session_.refuse(which, std::move(more));
}

}  // namespace

asio::awaitable<bool> forward_unguarded(session& session, observed_request* observed) {
  passthrough request(session, observed);
  co_return co_await request.run();
}

}  // namespace onceguard::gateway
