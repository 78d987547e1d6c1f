#include "service_client.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/hex.hpp"
#include "base/random.hpp"
#include "engine/background.hpp"
#include "serve/operation_id.hpp"

namespace onceguard::sim {

namespace asio = boost::asio;
using asio::awaitable;
using nlohmann::json;

namespace {

// Those of the protocol, shorter, as all times of the simulation.
constexpr milliseconds claim_timeout{1'000};
constexpr milliseconds settle_timeout{1'500};
constexpr milliseconds settle_again{1'000};
constexpr milliseconds first_pause{10};
constexpr milliseconds longest_pause{100};
constexpr milliseconds succession{200};
constexpr milliseconds watch_interval{50};
constexpr int late_claims = 3;

std::string bytes_of(const std::string& path, const json& message) {
  const auto body = message.dump();
  return "POST " + path +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// The first answer of the bytes, if it is whole.
std::optional<call_reply> read_reply(const std::string& bytes) {
  constexpr std::string_view length_field = "Content-Length: ";
  const auto end = bytes.find("\r\n\r\n");
  if (end == bytes.npos) return std::nullopt;
  const auto head = std::string_view(bytes).substr(0, end);
  std::size_t length = 0;
  const auto digits = head.substr(head.find(length_field) + length_field.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (bytes.size() < end + 4 + length) return std::nullopt;
  call_reply out;
  std::from_chars(head.data() + 9, head.data() + 12, out.status);
  out.closes = head.find("Connection: close") != head.npos;
  out.members = json::parse(bytes.substr(end + 4, length));
  return out;
}

bool goes_on(const std::string& kind) { return kind == "renew" || kind == "dispatch"; }

json new_claim_id() {
  std::array<unsigned char, 16> bytes{};
  base::random_bytes(bytes);
  return base::to_hex(bytes);
}

}  // namespace

bool call_reply::draining() const {
  return status == 503 && members.value("type", "").ends_with("draining");
}

service_stream::service_stream(asio::io_context& loop, wire_ptr connected)
    : wire_(std::move(connected)), timer_(loop) {
  wire_->on_change = [this] { timer_.cancel(); };
}

awaitable<std::optional<call_reply>> service_stream::exchange(std::string call,
                                                              base::boot_clock::time_point until,
                                                              std::stop_token left) {
  const std::stop_callback leaving(left, [this] { timer_.cancel(); });
  wire_->send(std::move(call));
  for (;;) {
    auto reply = read_reply(wire_->received());
    if (reply) wire_->received().clear();
    const auto now = base::boot_now();
    if (reply || ended() || now >= until || left.stop_requested()) co_return reply;
    timer_.expires_after(until - now);
    boost::system::error_code cancelled;
    auto quietly = asio::redirect_error(asio::use_awaitable, cancelled);
    co_await timer_.async_wait(quietly);
  }
}

/// One may stand still while a machine is suspended, and the other may be put back.
struct service_client::clocks {
  std::int64_t boot = base::system_clock().boot_ms();
  std::int64_t wall = base::system_clock().wall_ms();

  /// Whether no more than two thirds of the lease have passed.
  [[nodiscard]] bool within(const service_run& run) const {
    const clocks now;
    return std::max(now.boot - boot, now.wall - wall) * 3 <= run.lease_time.count() * 2;
  }
};

stream_ptr service_client::connect(bool fresh) {
  std::erase_if(idle_, [](const stream_ptr& each) { return each->ended(); });
  if (!fresh && !idle_.empty()) {
    auto out = std::move(idle_.back());
    idle_.pop_back();
    return out;
  }
  return std::make_shared<service_stream>(*node_.loop,
                                          std::make_shared<wire>(world_, node_, address_()));
}

void service_client::give_back(const exchanged& over) {
  if (!over.reply->closes) idle_.push_back(over.stream);
}

void service_client::later(awaitable<void> work) {
  asio::co_spawn(*node_.loop, std::move(work), [](const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

/// A call until it is answered: a settle of `run`, or a claim, which a service that drains sends
/// to its successor.
awaitable<service_client::exchanged> service_client::repeat(std::string path, json message,
                                                            run_ptr run, milliseconds timeout,
                                                            std::stop_token left) {
  const auto call = bytes_of(path, message);
  const auto began = base::boot_now();
  std::optional<base::boot_clock::time_point> until;
  std::optional<base::boot_clock::time_point> drained;
  bool sent = false;
  milliseconds pause{0};
  for (;;) {
    const bool sent_before = sent;
    exchanged out;
    if (run) out.stream = std::exchange(run->stream, nullptr);
    if (!out.stream) out.stream = connect(sent || drained);
    sent = true;
    out.reply = co_await out.stream->exchange(call, began + timeout, left);
    const bool again = !out.reply || (run && out.reply->status == 503) || out.reply->draining();
    if (!again || left.stop_requested()) co_return out;
    const auto now = base::boot_now();
    bool ends = false;
    if (out.reply && out.reply->draining()) {
      if (!drained) drained = now;
      sent = sent_before;
      ends = now + pause >= *drained + succession;
    } else {
      if (!until)
        until = run ? began + settle_again : std::min(now + claim_timeout, began + timeout);
      ends = now + pause >= *until;
    }
    if (ends) co_return exchanged();
    out = {};  // its connection ends
    co_await sleep_for(pause);
    pause = std::min(std::max(2 * pause, first_pause), longest_pause);
  }
}

awaitable<claim_answer> service_client::claim(json message, milliseconds wait,
                                              std::stop_token left) {
  for (int i = 0; i < late_claims; ++i) {
    message["claim"] = new_claim_id();
    const clocks before;
    auto out = co_await claim_once(message, wait, left);
    if (!out.run) co_return out;
    const auto held = co_await holds(out.run, before);
    if (!held) co_return claim_answer{"away", {}, nullptr};
    if (*held) {
      later(watch(out.run));
      co_return out;
    }
  }
  co_return claim_answer{"late", {}, nullptr};
}

awaitable<claim_answer> service_client::claim_once(json message, milliseconds wait,
                                                   std::stop_token left) {
  auto got = co_await repeat("/v1/operations", message, nullptr, claim_timeout + wait, left);
  if (left.stop_requested() && !got.reply) {
    got = {};
    message["wait_ms"] = 0;
    later(take_back(std::move(message)));
    co_return claim_answer{"left", {}, nullptr};
  }
  if (!got.reply) co_return claim_answer{"away", {}, nullptr};
  if (got.reply->status == 503) co_return claim_answer{"overloaded", {}, nullptr};
  if (got.reply->status != 200) throw std::logic_error(got.reply->members.dump());
  claim_answer out{got.reply->members["verdict"], got.reply->members, nullptr};
  if (out.verdict != "run") {
    give_back(got);
    co_return out;
  }
  out.run = std::make_shared<service_run>();
  out.run->operation = out.members["operation"];
  out.run->under = serve::operation_id::parse(out.run->operation).value().held;
  out.run->lease_time = milliseconds(out.members["lease_ms"].get<std::int64_t>());
  out.run->stream = got.stream;
  co_return out;
}

/// Whether the work may begin: this process may have stood still since it made its claim, for
/// longer than its lease. None: the service is away.
awaitable<std::optional<bool>> service_client::holds(run_ptr run, clocks before) {
  for (int i = 0; i < late_claims; ++i) {
    if (before.within(*run)) co_return true;
    before = clocks();
    const auto renewed = co_await settle(run, "renew");
    if (renewed.outcome == "away") {
      later([](service_client& self, run_ptr over) -> awaitable<void> {
        co_await self.settle(over, "release");
      }(*this, run));
      co_return std::nullopt;
    }
    if (renewed.outcome != "renewed") co_return false;
  }
  co_await settle(run, "release");
  co_return false;
}

awaitable<void> service_client::take_back(json message) {
  const std::stop_token nobody;
  const auto got = co_await claim_once(std::move(message), milliseconds(0), nobody);
  if (got.run) co_await settle(got.run, "release");
}

awaitable<settle_answer> service_client::settle(run_ptr run, std::string kind, json members) {
  if (!goes_on(kind)) {
    run->ends = true;
    run->rebound = nullptr;
  }
  const auto path = "/v1/operations/" + run->operation + '/' + kind;
  const std::stop_token nobody;
  const auto got = co_await repeat(path, std::move(members), run, settle_timeout, nobody);
  if (!got.reply) co_return settle_answer{"away", {}};
  // The key is another operation's by now.
  if (got.reply->status == 404) co_return settle_answer{"unrecorded", {}};
  if (got.reply->status != 200) throw std::logic_error(got.reply->members.dump());
  if (goes_on(kind)) {
    run->stream = got.stream;
  } else {
    give_back(got);
  }
  co_return settle_answer{got.reply->members["outcome"], got.reply->members};
}

awaitable<bool> service_client::dispatch(run_ptr run) {
  const clocks before;
  const auto begun = co_await settle(run, "dispatch");
  if (begun.outcome == "dispatched" && before.within(*run)) co_return true;
  co_await settle(run, "release");
  co_return false;
}

/// Binds a lease whose connection has ended to a new one.
awaitable<void> service_client::watch(std::weak_ptr<service_run> watched) {
  for (;;) {
    co_await sleep_for(watch_interval);
    const auto run = watched.lock();
    if (!run || run->ends) co_return;
    const auto held = run->rebound ? run->rebound : run->stream;
    if (!held || !held->ended()) continue;
    auto bound = std::make_shared<service_run>(*run);
    bound->stream = bound->rebound = nullptr;
    const auto renewed = co_await settle(bound, "renew");
    if (renewed.outcome == "away") continue;
    if (renewed.outcome != "renewed") co_return;
    if (!run->ends) run->rebound = bound->stream;
  }
}

}  // namespace onceguard::sim
