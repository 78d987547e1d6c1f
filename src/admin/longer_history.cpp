#include "admin/longer_history.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "admin/responses.hpp"
#include "engine/background.hpp"
#include "http1/message.hpp"

namespace onceguard::admin {

using nlohmann::ordered_json;

namespace {

constexpr std::chrono::seconds serves_for{15};
// Prometheus may be away: not each caller waits for it anew.
constexpr std::chrono::seconds failure_serves_for{3};
constexpr milliseconds answer_pause{20};
// Each span may be asked before this one.
constexpr std::chrono::seconds patience = longer_history::timeout * history_spans.size();

}  // namespace

longer_history::longer_history(const admin_params& params)
    : name_(params.prometheus ? base::authority_of(params.prometheus->address) : ""),
      path_(params.prometheus ? params.prometheus->path : ""),
      labels_(params.prometheus_labels) {
  if (!params.prometheus) return;
  base::server_address server;
  server.tcp = params.prometheus->address;
  client_.emplace(std::move(server), tls::client_files{}, answer_size_max);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

longer_history::~longer_history() = default;

void longer_history::run(const std::stop_token& stop) {
  const auto wanted = [this] { return std::ranges::find(slots_, true, &slot::wanted); };
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return wanted() != slots_.end(); }) &&
         !stop.stop_requested()) {
    auto& next = *wanted();
    const auto& span = history_spans[static_cast<std::size_t>(&next - slots_.data())];
    lock.unlock();
    auto read = ask(span);
    lock.lock();
    next.wanted = false;
    next.latest = std::move(read);
  }
}

longer_history::answer longer_history::ask(const history_span& span) {
  const auto now = base::system_clock().wall_ms() / 1'000;
  std::string bytes;
  http1::append_request_line(bytes, "GET", history_target(path_, labels_, span, now, timeout));
  http1::append_field(bytes, "Host", name_);
  http1::append_field(bytes, "Accept", "application/json");
  http1::append_end_of_head(bytes);
  const auto came = client_->exchange("GET", bytes, timeout);
  const auto failure_until = [] { return base::boot_now() + failure_serves_for; };
  if (!came) {
    const auto status = came.error().code == errc::conflict ? 502 : 504;
    return {failed(static_cast<std::uint16_t>(status), came.error().detail), failure_until()};
  }
  auto history = read_history(came->body, span, now);
  if (!history) {
    const auto detail = "status " + std::to_string(came->status) + ", " + history.error().detail;
    return {failed(502, detail), failure_until()};
  }
  ordered_json out;
  out["source"] = "prometheus";
  out["span"] = span.name;
  out["interval_ms"] = milliseconds(span.step).count();
  out["history"] = *std::move(history);
  return {json_response(out), base::boot_now() + serves_for};
}

response longer_history::failed(std::uint16_t status, std::string_view why) const {
  return refusal(status, "Prometheus at " + name_ + ": " + std::string(why) + ".");
}

std::optional<response> longer_history::find(std::size_t span) {
  const std::lock_guard lock(mutex_);
  auto& here = slots_.at(span);
  if (here.latest && base::boot_now() < here.latest->until) return here.latest->given;
  here.wanted = true;
  changed_.notify_one();
  return std::nullopt;
}

boost::asio::awaitable<response> longer_history::read(const history_span& span) {
  const auto number = static_cast<std::size_t>(&span - history_spans.data());
  const auto until = base::boot_now() + patience;
  auto found = find(number);
  while (!found && base::boot_now() < until) {
    co_await sleep_for(answer_pause);
    found = find(number);
  }
  if (found) co_return *std::move(found);
  co_return failed(504, "no answer in time");
}

resources history_resources(longer_history& kept) {
  resources out;
  out.push_back(
      {"GET", "/api/history", access::view,
       [&kept](const request& wanted) -> boost::asio::awaitable<response> {
         if (!kept.known()) {
           co_return refusal(404, "More than the last hour needs [gateway] prometheus_url.");
         }
         const auto* const span =
             std::ranges::find(history_spans, wanted.parameter("span"), &history_span::name);
         if (span == history_spans.end()) {
           co_return refusal(400, "span: one of 6h, 1d, 7d and 30d was expected");
         }
         auto answer = co_await kept.read(*span);
         co_return answer;
       }});
  return out;
}

}  // namespace onceguard::admin
