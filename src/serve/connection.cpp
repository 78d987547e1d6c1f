#include "serve/connection.hpp"

#include <boost/asio/buffer.hpp>

#include "base/for_ever.hpp"
#include "serve/batch.hpp"

namespace onceguard::serve {

namespace asio = boost::asio;

/// What the head of a request says.
struct connection::call {
  enum class kind : std::uint8_t { claim, settle, batch, health, readiness, description };
  kind purpose = kind::claim;
  message_form form = message_form::plain;  ///< of the request
  message_form answer = message_form::plain;
  std::string operation;          ///< settle
  ending end = ending::complete;  ///< settle
};

namespace {

constexpr std::string_view operations_path = "/v1/operations";
constexpr std::string_view batch_path = "/v1/batch";
constexpr std::size_t beside_body = 64u << 10;

http1::served_limits limits_of(const connection_context& context) {
  http1::served_limits out;
  // A body in JSON takes a third more as base64.
  const auto longest = context.service.rules()->longest_message;
  out.body_size_max = longest + longest / 2 + beside_body;
  out.idle = context.params.idle_timeout;
  out.request = context.params.message_timeout;
  out.write = context.params.write_timeout;
  return out;
}

std::string_view title_of(std::uint16_t status) {
  if (status == 413) return "The message is too large";
  return status == 408 ? "The message came too slowly" : "The message is no HTTP request";
}

reply_message only_by(const std::string& base, std::string_view method) {
  return service_problem(base, 405, "bad-request", "This path has another method",
                         std::string(method) + " only.", milliseconds(-1));
}

/// Counts a call for as long as it lives.
class counted_call {
 public:
  explicit counted_call(std::atomic<std::size_t>& counter) : counter_(counter) { ++counter_; }
  counted_call(const counted_call&) = delete;
  counted_call& operator=(const counted_call&) = delete;
  ~counted_call() { --counter_; }

 private:
  std::atomic<std::size_t>& counter_;
};

}  // namespace

connection::connection(http1::stream_socket socket, asio::io_context& io,
                       connection_context& context, const tls::context& settings)
    : served_connection(std::move(socket), io, limits_of(context), settings),
      context_(context),
      number_(context.service.operations().join()) {}

connection::~connection() {
  *alive_ = false;
  context_.service.operations().leave(number_);
}

std::chrono::milliseconds connection::idle_time() const {
  const bool holds = context_.service.operations().holds_any(number_);
  return holds ? base::for_ever : bounds().idle;
}

asio::awaitable<void> connection::run() {
  for (;;) {
    const bool goes_on = co_await serve_one();
    if (!goes_on) co_return;
    reset();
  }
}

std::optional<reply_message> connection::read_call(call& out) const {
  const auto& given = head();
  const auto& base = context_.service.problem_base();
  if (const auto* accept = base::find_field(given.fields, "accept")) {
    out.answer = form_accepted(accept->value);
  }
  const auto path = given.target.substr(0, given.target.find('?'));
  const bool reads = given.method == "GET";
  if (path == "/healthz" || path == "/readyz") {
    out.purpose = path == "/healthz" ? call::kind::health : call::kind::readiness;
    if (!reads) return only_by(base, "GET");
    return std::nullopt;
  }
  if (auto refused = context_.access.refusal(given)) return refused;
  if (path == "/v1/openapi.json") {
    out.purpose = call::kind::description;
    if (!reads) return only_by(base, "GET");
    return std::nullopt;
  }
  const bool batch = path == batch_path;
  if (batch) out.purpose = call::kind::batch;
  if (!batch && !path.starts_with(operations_path)) {
    return not_found(base, "There is no such path.");
  }
  const auto rest = batch ? std::string_view{} : path.substr(operations_path.size());
  if (!rest.empty()) {
    const auto slash = rest.rfind('/');
    const auto end = ending_of(rest.substr(slash + 1));
    if (rest.front() != '/' || slash == 0 || !end) return not_found(base, "There is no such path.");
    out.purpose = call::kind::settle;
    out.operation = rest.substr(1, slash - 1);
    out.end = *end;
  }
  if (given.method != "POST") {
    return only_by(base, "POST");
  }
  const auto* type = base::find_field(given.fields, "content-type");
  const bool empty = given.body == http1::body_kind::none;
  const auto form = type == nullptr ? std::nullopt : form_of_content(type->value);
  if (!form && !(empty && type == nullptr)) {
    return bad_request(base,
                       "Content-Type: expected application/json or " + std::string(framed_type));
  }
  out.form = form.value_or(message_form::plain);
  if (empty) out.form = message_form::plain;
  return std::nullopt;
}

/// Claims leave half of the room for settles, which say what has happened.
std::size_t connection::room_for_others(const call& called) const {
  return called.purpose == call::kind::settle ? 0 : context_.messages.bytes_max() / 2;
}

/// Claims that are small get through while others' clients don't read.
std::size_t connection::room_left_by_answer(const call& called) const {
  const auto left = room_for_others(called);
  return left + left / 4;
}

bool connection::take_room(const call& called) {
  const auto bytes = head().content_length.value_or(
      head().body == http1::body_kind::none ? 0 : bounds().body_size_max);
  const auto wanted = std::min<std::uint64_t>(bytes, bounds().body_size_max);
  return room_.grow_to(static_cast<std::size_t>(wanted), room_for_others(called));
}

bool connection::take_room_to_answer(std::size_t bytes, const call& called) {
  room_.clear();  // the message is gone by now
  if (room_.grow_to(bytes, room_left_by_answer(called))) return true;
  // One that is longer than the whole room goes alone.
  if (context_.messages.used() != 0) return false;
  room_.set(bytes);
  return true;
}

bool connection::is_forsaken(const call& called) {
  const bool asks = called.purpose == call::kind::claim || called.purpose == call::kind::batch;
  // Its client may have sent the claim again on another connection, and hold its lease there.
  return asks && peer_has_left();
}

asio::awaitable<bool> connection::serve_one() {
  const bool arrived = co_await read_head();
  if (!arrived) co_return false;
  call called;
  if (auto refused = read_call(called)) {
    co_return co_await refuse_call(*std::move(refused), called.answer);
  }
  const counted_call counted(context_.calls);
  room_ = byte_reservation(context_.messages);
  if (!take_room(called)) {
    auto full = service_problem(context_.service.problem_base(), 503, "overloaded",
                                "No capacity at the moment",
                                "Nothing was done. Send the same call again.", milliseconds(1'000));
    co_return co_await refuse_call(std::move(full), called.answer);
  }
  std::string body;
  const bool whole = co_await read_body(body);
  if (!whole || is_forsaken(called)) co_return false;
  const bool goes_on = co_await carry_out(called, std::move(body));
  room_.clear();
  co_return goes_on && !is_last_;
}

asio::awaitable<bool> connection::carry_out(const call& called, std::string body) {
  if (called.purpose == call::kind::health) co_return co_await send(health(), called.answer);
  if (called.purpose == call::kind::readiness) co_return co_await send(readiness(), called.answer);
  if (called.purpose == call::kind::description) co_return co_await describe();
  auto given = read_message(std::move(body), called.form);
  const auto& base = context_.service.problem_base();
  if (!given) co_return co_await send(bad_request(base, given.error().detail), called.answer);
  if (called.purpose == call::kind::claim) {
    auto taken = std::move(*given);
    co_return co_await claim(called, std::move(taken));
  }
  if (called.purpose == call::kind::batch) {
    auto taken = std::move(*given);
    co_return co_await batch(called, std::move(taken));
  }
  auto read = read_settle(called.end, std::move(*given));
  if (!read) co_return co_await send(bad_request(base, read.error().detail), called.answer);
  auto wanted = std::move(*read);
  auto made = co_await context_.service.settle(called.operation, std::move(wanted), number_);
  co_return co_await send_answer(called, std::move(made));
}

asio::awaitable<bool> connection::claim(const call& called, message given) {
  auto read = read_claim(std::move(given));
  if (!read) {
    auto wrong = bad_request(context_.service.problem_base(), read.error().detail);
    co_return co_await send(std::move(wrong), called.answer);
  }
  const auto watching = watch();
  const caller asker{number_, watching->get_token(), &context_.messages,
                     room_left_by_answer(called), &room_};
  auto wanted = std::move(*read);
  auto made = co_await context_.service.claim(std::move(wanted), asker);
  const bool gone = watching->stop_requested();
  bool sent = false;
  if (!gone) sent = co_await send_answer(called, std::move(made.message));
  if (!sent && !made.operation.empty()) co_await context_.service.give_back(made.operation);
  co_return sent;
}

asio::awaitable<bool> connection::batch(const call& called, message given) {
  const auto watching = watch();
  const caller asker{number_, watching->get_token(), &context_.messages,
                     room_left_by_answer(called), &room_};
  auto made = co_await carry_out_batch(context_.service, std::move(given), asker, room_);
  const bool gone = watching->stop_requested();
  bool sent = false;
  if (!gone) sent = co_await send(std::move(made.message), called.answer);
  for (const auto& each : made.claims) {
    if (!sent && !each.operation.empty()) co_await context_.service.give_back(each.operation);
  }
  co_return sent;
}

std::shared_ptr<std::stop_source> connection::watch() {
  auto out = std::make_shared<std::stop_source>();
  auto notice = [this, alive = alive_,
                 watched = std::weak_ptr(out)](const boost::system::error_code& failed) {
    const auto waiting = watched.lock();
    if (!*alive || failed || !waiting) return;
    if (peer_has_left()) waiting->request_stop();
  };
  socket().async_wait(asio::socket_base::wait_read, std::move(notice));
  return out;
}

reply_message connection::health() const {
  reply_message out;
  out.object["status"] = "ok";
  return out;
}

reply_message connection::readiness() const {
  const auto store = context_.service.records().engine().health();
  const bool ready = store.up && !context_.service.draining();
  reply_message out;
  out.status = ready ? 200 : 503;
  out.object["status"] = ready ? "ready" : context_.service.draining() ? "draining" : "store-away";
  if (!store.up && !store.why.empty()) out.object["why"] = store.why;
  return out;
}

namespace {

struct written_reply {
  std::string head;  ///< of HTTP, and what can stand behind it without a copy of a long body
  encoded_reply rest;
};

written_reply message_of(reply_message made, message_form form, bool keep) {
  written_reply out;
  auto& head = out.head;
  http1::append_status_line(head, made.status);
  if (made.status == 401) http1::append_field(head, "WWW-Authenticate", "Bearer");
  const bool problem = made.object.contains("type") && form == message_form::plain;
  http1::append_field(head, "Content-Type",
                      problem                        ? "application/problem+json"
                      : form == message_form::framed ? framed_type
                                                     : "application/json");
  if (made.retry_after.count() >= 0) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(made.retry_after).count();
    http1::append_field(head, "Retry-After", std::to_string(std::max<std::int64_t>(seconds, 1)));
  }
  if (!keep) http1::append_field(head, "Connection", "close");
  out.rest = encode(std::move(made), form);
  http1::append_content_length(head, out.rest.size());
  http1::append_end_of_head(head);
  return out;
}

std::string whole(const written_reply& made) {
  return made.head + made.rest.text + std::string(made.rest.body());
}

}  // namespace

/// A drain takes no claims: without a lease, its client is better off at the successor.
bool connection::take_another() {
  const bool leaves =
      context_.service.draining() && !context_.service.operations().holds_any(number_);
  is_last_ = leaves || !may_be_kept();
  return !is_last_;
}

asio::awaitable<bool> connection::send(reply_message made, message_form form) {
  auto out = message_of(std::move(made), form, take_another());
  if (out.rest.body().empty()) co_return co_await write(out.head, out.rest.text, bounds().write);
  out.head += out.rest.text;
  co_return co_await write(out.head, out.rest.body(), bounds().write);
}

asio::awaitable<bool> connection::send_answer(const call& called, reply_message made) {
  const auto bytes = room_of(made, called.answer);
  if (bytes >= long_message && peer_has_left()) co_return false;
  if (!take_room_to_answer(bytes, called)) {
    made = no_room_for_answer(context_.service.problem_base());
  }
  co_return co_await send(std::move(made), called.answer);
}

asio::awaitable<bool> connection::describe() {
  std::string out;
  http1::append_status_line(out, 200);
  http1::append_field(out, "Content-Type", "application/json");
  if (!take_another()) http1::append_field(out, "Connection", "close");
  http1::append_content_length(out, openapi_document().size());
  http1::append_end_of_head(out);
  co_return co_await write(out, openapi_document(), bounds().write);
}

/// Before the body was read: a short one is, so that the connection goes on.
asio::awaitable<bool> connection::refuse_call(reply_message why, message_form form) {
  const bool none = head().body == http1::body_kind::none;
  if (none || head().content_length.value_or(beside_body + 1) <= beside_body) {
    std::string dropped;
    const bool whole = co_await read_body(dropped);
    if (!whole) co_return false;
    const bool sent = co_await send(std::move(why), form);
    co_return sent && !is_last_;
  }
  const auto status = why.status;
  refusal_ = whole(message_of(std::move(why), form, false));
  const std::string_view no_text;
  co_await refuse(status, no_text);
  co_return false;
}

std::string connection::answer_to_fault(std::uint16_t status, std::string_view why) {
  if (!refusal_.empty()) return std::exchange(refusal_, {});
  const auto type = status == 413 ? "request-too-large" : "bad-request";
  auto made = service_problem(context_.service.problem_base(), status, type, title_of(status), why,
                              milliseconds(-1));
  return whole(message_of(std::move(made), message_form::plain, false));
}

}  // namespace onceguard::serve
