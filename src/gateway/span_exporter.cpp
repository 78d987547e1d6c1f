#include "gateway/span_exporter.hpp"

#include <exception>
#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/address.hpp"
#include "base/log.hpp"
#include "gateway/upstream_call.hpp"
#include "gateway/upstream_pool.hpp"
#include "http1/message.hpp"
#include "trace/tracer.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

constexpr int tries_max = 3;
constexpr milliseconds first_pause{1'000};  // doubles with each try
constexpr milliseconds at_end{2'000};
constexpr std::size_t answer_max = 64 * 1024;

struct delivery {
  bool accepted = false;
  bool again = false;  // a later try may succeed
  std::string why;
};

delivery delivery_of(std::uint16_t status) {
  delivery out;
  out.accepted = status >= 200 && status < 300;
  // As the specification of OTLP has it.
  out.again = status == 429 || status == 502 || status == 503 || status == 504;
  if (!out.accepted) out.why = "the collector answered with status " + std::to_string(status);
  return out;
}

}  // namespace

/// The io_context runs on the exporter's thread, and only while a batch is sent.
class span_exporter::connection {
 public:
  explicit connection(const trace::trace_settings& settings)
      : settings_(settings), pool_(io_, make_params(settings), names_, suspects_) {}
  ~connection() { names_.close(); }

  delivery send(const std::string& body) {
    std::optional<delivery> out;
    asio::co_spawn(io_, call(body), [&](const std::exception_ptr& failure, delivery result) {
      if (failure) result.why = "the call ended with an exception";
      out = std::move(result);
    });
    while (!out && io_.run_one() != 0) {
    }
    if (!out) return {.accepted = false, .again = false, .why = "the gateway ended"};
    return *out;
  }
  /// From any thread: a running send() returns, and later ones do nothing.
  void stop() { io_.stop(); }

 private:
  static gateway_params make_params(const trace::trace_settings& settings) {
    gateway_params out;
    out.connect_timeout = settings.timeout;
    return out;
  }

  std::string head(std::size_t length) const {
    std::string out;
    http1::append_request_line(out, "POST", settings_.path);
    http1::append_field(out, "Host", authority_of(settings_.address));
    http1::append_field(out, "Content-Type", "application/json");
    http1::append_field(out, "User-Agent", "OTel-OTLP-Exporter-onceguard");
    for (const auto& [name, value] : settings_.headers) http1::append_field(out, name, value);
    http1::append_field(out, "Connection", "close");
    http1::append_content_length(out, length);
    http1::append_end_of_head(out);
    return out;
  }

  asio::awaitable<delivery> call(const std::string& body) {
    auto connected = co_await pool_.connect(settings_.address);
    if (!connected) co_return delivery{false, true, connected.error().detail};
    auto& up = **connected;
    up.reader.answers_to("POST");
    call_limits limits;
    limits.upstream_timeout = limits.write_timeout = settings_.timeout;
    limits.max_answer_body = answer_max;
    byte_reservation not_counted;
    const auto result =
        co_await call_upstream(up, head(body.size()), body, limits, nullptr, not_counted);
    const bool answered = result.end == call_end::answered || result.end == call_end::too_large;
    if (answered) co_return delivery_of(up.reader.head().status);
    co_return delivery{false, true, result.why.empty() ? "no answer came in time" : result.why};
  }

  const trace::trace_settings& settings_;
  asio::io_context io_{1};
  host_lookup names_;
  suspect_upstreams suspects_;
  upstream_pool pool_;
};

span_exporter::span_exporter(trace::trace_settings settings, trace::span_queue& queue,
                             std::string version)
    : settings_(std::move(settings)),
      queue_(queue),
      version_(std::move(version)),
      connection_(std::make_unique<connection>(settings_)),
      thread_([this] { run(); }) {}

span_exporter::~span_exporter() {
  queue_.end();
  if (over_.get_future().wait_for(at_end) != std::future_status::ready) connection_->stop();
  thread_.join();
}

void span_exporter::run() {
  for (;;) {
    const bool last = queue_.ended();
    const auto batch = queue_.take(settings_.delay);
    if (batch.empty() && last) break;
    if (batch.empty()) continue;
    try {
      deliver(batch);
    } catch (const std::exception& failure) {
      queue_.count_dropped(batch.size());
      base::log(base::event::background_work_failed,
                {{"task", "send spans"}, {"why", failure.what()}});
    }
  }
  over_.set_value();
}

void span_exporter::deliver(const std::vector<std::string>& batch) {
  const auto body = trace::export_body(settings_.resource, version_, batch);
  auto pause = first_pause;
  for (int number = 1;; ++number) {
    const auto sent = connection_->send(body);
    if (sent.accepted) return;
    if (!sent.again || number == tries_max || queue_.ended()) {
      queue_.count_dropped(batch.size());
      base::log(base::event::spans_not_sent, {{"collector", authority_of(settings_.address)},
                                              {"why", sent.why},
                                              {"dropped", queue_.dropped()}});
      return;
    }
    queue_.rest(pause);
    pause *= 2;
  }
}

}  // namespace onceguard::gateway
