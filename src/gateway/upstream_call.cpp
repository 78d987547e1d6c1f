#include "gateway/upstream_call.hpp"

#include <boost/asio/error.hpp>

#include "base/clock.hpp"
#include "engine/background.hpp"
#include "engine/held_lease.hpp"
#include "http/forwarded_fields.hpp"
#include "tls/session.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using clock = base::boot_clock;

namespace {

constexpr std::size_t answer_read_size = 8 * 1024;
/// Between looks whether there is room for an answer, which waits in the kernel.
constexpr milliseconds room_poll{20};
constexpr std::size_t piece_max = 64 * 1024;  // of a request, between two checks of the lease
// How much more than the longest body may be read late.
constexpr std::size_t late_more = 64 * 1024;
// If a deadline is noticed this late, the process was stopped.
constexpr milliseconds stopped_least{500};
constexpr milliseconds catch_up{1'000};  // the time that the peer then gets to send the rest

milliseconds rest_until(clock::time_point end) {
  return std::max(std::chrono::ceil<milliseconds>(end - base::boot_now()), milliseconds(0));
}

/// Whether the answer never ends, or ends just as a broken connection does. TLS
/// announces the end.
bool is_stream(const http1::head& answer, bool encrypted) {
  const bool endless = answer.body == http1::body_kind::until_eof && !encrypted;
  return endless || http::is_event_stream(answer.fields);
}

class upstream_call {
 public:
  upstream_call(upstream_connection& up, std::string head, std::string_view body,
                call_limits limits, const held_lease* lease, byte_reservation& held)
      : up_(up),
        head_(std::move(head)),
        body_(body),
        size_(head_.size() + body_.size()),
        limits_(limits),
        lease_(lease),
        held_(held) {
    if (size_ > copy_max) return;
    head_ += body_;
    body_ = {};
  }

  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] bool sending() const noexcept { return !all_sent() && !write_failed_; }
  /// Sends as much as the kernel takes at once. False: the kernel takes no more for now.
  [[nodiscard]] bool send_now();
  /// Continues after send_now(), until everything is sent, the upstream begins to answer, or the
  /// upstream takes no more.
  asio::awaitable<void> send_on();
  /// Starts the upstream's time to answer.
  void begin_waiting() { until_ = base::boot_now() + limits_.upstream_timeout; }
  /// Reads until the deadline; after the deadline, reads only the data that the kernel has.
  asio::awaitable<void> read_on();
  /// Takes room for what is read next. False: there is none now.
  [[nodiscard]] bool has_room();
  /// Until there is room, or the call is done.
  asio::awaitable<void> wait_for_room();
  /// Parses the data that has arrived. True: more must be read. False: the call is done, or the
  /// request must be sent first.
  [[nodiscard]] bool take();
  [[nodiscard]] call_result result();

 private:
  // Up to this size, one buffer is cheaper than two.
  static constexpr std::size_t copy_max = 32 * 1024;

  [[nodiscard]] bool may_send();
  [[nodiscard]] bool take_head();
  void make_room_for(std::size_t more);
  void came(const transfer& read);
  [[nodiscard]] bool is_refused() const;
  [[nodiscard]] transfer read_late(std::span<char> buffer);
  void broke(std::string why) {
    result_.end = call_end::broken;
    result_.why = std::move(why);
    done_ = true;
  }
  void finish(call_end end) {
    result_.end = end;
    done_ = true;
  }
  /// The rest of the request.
  [[nodiscard]] std::string_view rest() const noexcept {
    return sent_ < head_.size() ? std::string_view(head_).substr(sent_)
                                : body_.substr(sent_ - head_.size());
  }
  [[nodiscard]] bool all_sent() const noexcept { return sent_ == size_; }

  upstream_connection& up_;
  std::string head_;  // includes a small body
  std::string_view body_;
  const std::size_t size_;
  const call_limits limits_;
  const held_lease* const lease_;
  byte_reservation& held_;
  std::size_t sent_ = 0;
  std::size_t sent_when_full_ = 0;
  std::size_t late_ = 0;  // bytes that were read after the deadline
  bool caught_up_ = false;
  bool write_failed_ = false;
  bool answer_begun_ = false;  // a byte of it has come
  bool done_ = false;
  bool in_body_ = false;  // of the final answer
  clock::time_point write_until_{};
  clock::time_point until_{};
  call_result result_;
};

/// The process may have been stopped since the last piece, and another attempt may run by now.
bool upstream_call::may_send() {
  if (lease_ == nullptr || lease_->may_go_on()) return true;
  finish(call_end::lease_over);
  return false;
}

bool upstream_call::send_now() {
  while (!all_sent()) {
    if (!may_send()) return true;
    const auto now = up_.stream.write_now(rest().substr(0, piece_max));
    sent_ += now.bytes;
    if (!now.failure) continue;
    if (now.failure == asio::error::would_block) {
      if (sent_ != sent_when_full_ || write_until_ == clock::time_point{}) {
        sent_when_full_ = sent_;
        write_until_ = base::boot_now() + limits_.write_timeout;
      }
      return false;
    }
    write_failed_ = true;
    // A byte that the kernel took may have arrived. If it took none, the work has not begun.
    if (sent_ == 0) {
      static_cast<void>(up_.stream.quiet_and_open());  // takes an alert that has come
      result_.why = up_.why();
      finish(call_end::not_sent);
    }
    return true;
  }
  std::string().swap(head_);  // the copy of the body is not counted, so it must not stay while the
                              // answer is pending
  return true;
}

/// The write timeout applies to the next byte: interim answers of an upstream that takes nothing do
/// not extend it.
asio::awaitable<void> upstream_call::send_on() {
  do {
    const auto left = rest_until(write_until_);
    if (left.count() == 0) {
      finish(sent_ == 0 ? call_end::not_sent : call_end::timed_out);
      co_return;
    }
    // Readiness counts even if the timeout has passed, because this process may have been stopped.
    static_cast<void>(co_await up_.stream.wait_either(left));
    // Readable before everything is sent: an early answer, an interim answer, or the end of the
    // connection.
    if (!up_.stream.quiet_and_open()) co_return;
  } while (!send_now());
}

/// True: the head is final, and its body is to be read.
bool upstream_call::take_head() {
  const auto& answer = up_.reader.head();
  if (answer.status == 101) {
    finish(call_end::upgraded);
    return false;
  }
  if (answer.status < 200) return false;
  if (is_stream(answer, up_.stream.encryption() != nullptr) ||
      answer.content_length.value_or(0) > limits_.max_answer_body) {
    finish(call_end::too_large);
    return false;
  }
  in_body_ = true;
  return true;
}

/// The whole of an answer whose length is known, as two halves of answers could wait for each
/// other.
bool upstream_call::has_room() {
  if (limits_.readers == nullptr || !in_body_) return true;
  const auto promised = up_.reader.head().content_length;
  if (promised) return held_.grow_to(static_cast<std::size_t>(*promised));
  const auto needed = result_.body.size() + answer_read_size;
  return held_.grow_to(2 * std::min(needed, limits_.max_answer_body)) || held_.grow_to(needed);
}

asio::awaitable<void> upstream_call::wait_for_room() {
  while (!has_room()) {
    if (base::boot_now() >= until_) {
      finish(call_end::too_large);
      co_return;
    }
    limits_.readers->cut_slowest();
    co_await sleep_for(room_poll);
  }
}

/// An upstream that announces a long body and sends little must not occupy memory for all of it.
void upstream_call::make_room_for(std::size_t more) {
  auto& body = result_.body;
  const auto needed = body.size() + more;
  if (needed <= body.capacity()) return;
  const auto promised = up_.reader.head().content_length;
  auto most =
      std::min<std::uint64_t>(promised.value_or(limits_.max_answer_body), limits_.max_answer_body);
  if (limits_.readers != nullptr) most = std::min<std::uint64_t>(most, held_.bytes());
  auto ahead = std::max<std::size_t>(promised ? 64 * 1024 : 0, 2 * body.capacity());
  if (2 * ahead > most) ahead = static_cast<std::size_t>(most);  // and not most / 2 too much
  body.reserve(std::max(needed, std::min<std::size_t>(most, ahead)));
  if (body.capacity() > held_.bytes()) held_.set(body.capacity());
}

bool upstream_call::take() {
  while (!done_) {
    switch (up_.reader.next()) {
      case http1::progress::head:
        if (take_head()) break;
        if (done_) return false;
        if (up_.reader.next() != http1::progress::end) {
          broke("an interim answer with a body");
          return false;
        }
        up_.reader.reset();
        if (sending()) return false;
        break;
      case http1::progress::body: {
        const auto piece = up_.reader.body();
        const bool fits = result_.body.size() + piece.size() <= limits_.max_answer_body;
        make_room_for(piece.size());
        result_.body += piece;
        if (!fits) finish(call_end::too_large);
        break;
      }
      case http1::progress::end:
        finish(call_end::answered);
        break;
      case http1::progress::error:
        broke(std::string(up_.reader.fault().text));
        break;
      case http1::progress::need_more:
        return true;
    }
  }
  return false;
}

asio::awaitable<void> upstream_call::read_on() {
  const auto room = up_.reader.prepare(answer_read_size);
  const auto left = rest_until(until_);
  if (left.count() == 0) {
    came(read_late(room));
  } else {
    came(co_await up_.stream.read_some(room, left));
  }
}

/// Data that arrived in time is in the kernel, however late it is read. The limit on late bytes
/// keeps an upstream that sends without an end from getting more time.
transfer upstream_call::read_late(std::span<char> buffer) {
  auto out = up_.stream.read_now(buffer);
  late_ += out.bytes;
  if (late_ > limits_.max_answer_body + late_more) out.failure = asio::error::timed_out;
  if (out.failure == asio::error::would_block) out.failure = asio::error::timed_out;
  // The process was stopped for long, and the kernel had no room for the whole answer: the rest may
  // still arrive.
  if (!out.failure && !caught_up_ && base::boot_now() - until_ >= stopped_least) {
    caught_up_ = true;
    until_ = base::boot_now() + catch_up;
  }
  return out;
}

void upstream_call::came(const transfer& read) {
  if (!read.failure) {
    answer_begun_ = answer_begun_ || read.bytes != 0;
    up_.reader.commit(read.bytes);
  } else if (read.failure == asio::error::timed_out) {
    finish(call_end::timed_out);
  } else if (read.failure == asio::error::eof &&
             up_.reader.end_of_input() == http1::progress::end) {
    finish(call_end::answered);
  } else if (is_refused()) {
    result_.why = up_.why();
    finish(call_end::refused);
  } else {
    const auto alert = up_.why();
    broke("the connection ended before the answer was whole: " +
          (alert.empty() ? read.failure.message() : alert));
  }
}

/// In TLS 1.3 an upstream looks at the gateway's certificate when the request may be on its way. If
/// it refuses that, it has not decrypted the request.
bool upstream_call::is_refused() const {
  const auto* const tls = up_.stream.encryption();
  return tls != nullptr && tls->was_refused() && !up_.reused && !answer_begun_;
}

call_result upstream_call::result() {
  result_.request_begun = sent_ != 0;
  result_.request_sent = all_sent();
  const bool answered = result_.end == call_end::answered || result_.end == call_end::too_large;
  // Half a request stays half: what the kernel has of it goes with the reset.
  if (result_.request_begun && !result_.request_sent && !answered) up_.stream.abort();
  return std::move(result_);
}

}  // namespace

asio::awaitable<call_result> call_upstream(upstream_connection& up, std::string head,
                                           std::string_view body, call_limits limits,
                                           const held_lease* lease, byte_reservation& held) {
  upstream_call one(up, std::move(head), body, limits, lease, held);
  while (!one.done()) {
    if (one.sending() && !one.send_now()) co_await one.send_on();
    one.begin_waiting();
    while (one.take()) {
      if (!one.has_room()) co_await one.wait_for_room();
      if (one.done()) break;
      co_await one.read_on();
    }
  }
  co_return one.result();
}

http::problem problem_of_no_connection(const error& why) noexcept {
  // Repeats would meet the same address for ever, as in a circle of two gateways.
  return why.code == errc::conflict ? http::problem::loop_detected
                                    : http::problem::upstream_unreachable;
}

std::optional<call_failure> failure_of(const call_result& result) {
  using enum http::problem;
  using reason = unknown_reason;
  switch (result.end) {
    case call_end::not_sent:
      return call_failure{
          settle_kind::release, upstream_unreachable, reason::none,
          "no byte of the request could be sent" + (result.why.empty() ? "" : ": " + result.why)};
    case call_end::refused:
      return call_failure{settle_kind::release, upstream_unreachable, reason::none, result.why};
    case call_end::lease_over:
      if (!result.request_begun) {
        return call_failure{settle_kind::release, overloaded, reason::none,
                            "the lease was over before the first byte was sent"};
      }
      return call_failure{settle_kind::abandon, outcome_unknown, reason::holder_gone,
                          "the lease was over before all of the request was sent"};
    case call_end::timed_out:
      return call_failure{settle_kind::abandon, upstream_timeout, reason::upstream_timeout,
                          "no whole answer in time"};
    case call_end::broken:
      return call_failure{settle_kind::abandon, upstream_broken, reason::upstream_broken,
                          result.why};
    case call_end::upgraded:
      return call_failure{settle_kind::abandon, upstream_broken, reason::upgraded,
                          "the upstream switched protocols unasked"};
    case call_end::answered:
    case call_end::too_large:
      break;
  }
  return std::nullopt;
}

}  // namespace onceguard::gateway
