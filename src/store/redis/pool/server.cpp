#include "store/redis/pool/server.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace onceguard::redis {
namespace {

constexpr std::int64_t backoff_first_ms = 50;
constexpr std::int64_t backoff_most_ms = 2'000;
constexpr std::chrono::seconds linger{5};  // of links to a server that has no part yet

}  // namespace

server::server(const connection_context& connections, server_events& events,
               const redis_params& params, const keyspace& names, const endpoint& endpoint,
               std::size_t pipelines)
    : events_(events), names_(names), at_(endpoint) {
  const auto now = base::boot_now();
  const pipeline_context shared{connections, *this, params, names, endpoint};
  for (std::size_t i = 0; i < pipelines; ++i) {
    pipelines_.emplace_back().on = std::make_unique<pipeline>(shared);
    pipelines_.back().out_since = now;
  }
}

bool server::usable(steady_time vouched) const noexcept {
  return std::any_of(pipelines_.begin(), pipelines_.end(), [vouched](const kept_pipeline& each) {
    return each.on->ready() && each.on->ready_since() <= vouched;
  });
}

bool server::any_ready() const noexcept { return usable(steady_time::max()); }

pipeline* server::pipeline_for(std::size_t request_queue, steady_time vouched) noexcept {
  auto& target = *kept_for(request_queue).on;
  return target.ready() && target.ready_since() <= vouched ? &target : nullptr;
}

/// Each connection greets the parts whose requests it carries.
std::vector<std::size_t> server::parts_of(const pipeline& pipeline) const {
  if (!names_.cut()) return {0};
  const auto mine = std::find_if(pipelines_.begin(), pipelines_.end(),
                                 [&](const auto& each) { return each.on.get() == &pipeline; });
  std::vector<std::size_t> out;
  for (auto part = static_cast<std::size_t>(mine - pipelines_.begin()); part < parts_.size();
       part += pipelines_.size()) {
    if (parts_[part]) out.push_back(part);
  }
  return out;
}

void server::greet_parts() {
  if (!names_.cut()) return;
  for (auto& each : pipelines_) each.on->greet_parts();
}

// --- links ----------------------------------------------------------------------------------

server::kept_pipeline& server::kept(const pipeline& pipeline) {
  return *std::find_if(pipelines_.begin(), pipelines_.end(),
                       [&](const auto& each) { return each.on.get() == &pipeline; });
}

steady_time server::open_pipelines(steady_time now) {
  auto next = steady_time::max();
  for (auto& each : pipelines_) {
    if (!each.on->closed() || retired_) continue;
    if (each.open_at <= now) {
      each.open_at = steady_time::max();
      each.on->open();
    } else {
      next = std::min(next, each.open_at);
    }
  }
  return next;
}

void server::flush() {
  for (auto& each : pipelines_) {
    if (each.on->ready()) each.on->flush();
  }
}

void server::close(const failure& why) {
  for (auto& each : pipelines_) {
    if (!each.on->closed()) each.on->close(why);
  }
}

void server::retire() {
  retired_ = true;
  for (auto& each : pipelines_) {
    if (!each.on->closed() && each.on->idle()) {
      each.on->close(connection_failure("the server has no part of the store any more"));
    }
  }
}

bool server::lingers(steady_time now) const noexcept { return now < used_at_ + linger; }

bool server::gone() const noexcept {
  return retired_ && named_.empty() &&
         std::all_of(pipelines_.begin(), pipelines_.end(),
                     [](const kept_pipeline& each) { return each.on->closed(); });
}

/// At once if the connection was ready before, otherwise after a growing pause.
steady_time server::next_try(kept_pipeline& pipeline, steady_time now) const {
  if (std::exchange(pipeline.was_ready, false)) {
    pipeline.failures = 0;
    return now;
  }
  const auto round = std::min(pipeline.failures++, 8u);
  const auto pause = std::min(backoff_first_ms << round, backoff_most_ms);
  std::array<unsigned char, 1> random{};
  base::random_bytes(random);
  // Between half and all of the pause, so that processes don't come back all at once.
  return now + std::chrono::milliseconds(pause * (256 + random[0]) / 512);
}

// --- what links tell ------------------------------------------------------------------------

const known_metadata& server::known(std::size_t part) const noexcept { return events_.known(part); }
const std::string& server::masters() const noexcept { return events_.masters(); }

void server::on_facts(pipeline&, const server_facts& facts) {
  durable_ = keeps_everything(facts);
  if (facts.run.empty() || facts.run != run_) ++life_;
  run_ = facts.run;
  events_.on_facts(*this, facts);
}

void server::on_generation(std::size_t part, const std::string& run, std::uint64_t generation) {
  events_.on_generation(part, run, generation);
}

void server::on_ready(pipeline& pipeline) {
  auto& mine = kept(pipeline);
  mine.was_ready = true;
  mine.out_since.reset();
  last_failure_.reset();
  const auto now = base::boot_now();
  for (auto& each : pipelines_) {
    if (each.on->closed()) each.open_at = now;
  }
  greet_parts();
  events_.on_up(*this);
}

void server::on_lost(pipeline& pipeline, const failure& why) {
  const auto now = base::boot_now();
  auto& mine = kept(pipeline);
  if (why.code == "CLUSTERDOWN") mine.was_ready = false;  // it was not for long, nor will it be
  mine.open_at = next_try(mine, now);
  if (!mine.out_since) mine.out_since = now;
  last_failure_ = why;
  events_.on_down(*this, why);
}

void server::on_returned(pipeline&, entry back, const failure& why) {
  events_.on_returned(*this, std::move(back), why);
}

void server::on_redirected(pipeline&, entry back, const failure& why) {
  events_.on_redirected(*this, std::move(back), why);
}

}  // namespace onceguard::redis
