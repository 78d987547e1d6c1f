#include "store/redis/server.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace onceguard::redis {
namespace {

constexpr std::int64_t backoff_first_ms = 50;
constexpr std::int64_t backoff_most_ms = 2'000;
constexpr std::chrono::seconds linger{5};  // of links to a server that has no part yet

}  // namespace

server::server(const line_surroundings& lines, server_events& events, const redis_params& params,
               const keyspace& names, const endpoint& at, std::size_t links)
    : events_(events), names_(names), at_(at) {
  const auto now = base::boot_now();
  const link_surroundings shared{lines, *this, params, names, at, tokens_};
  for (std::size_t i = 0; i < links; ++i) {
    links_.emplace_back().on = std::make_unique<link>(shared);
    links_.back().out_since = now;
  }
}

bool server::usable(steady_time vouched) const noexcept {
  return std::any_of(links_.begin(), links_.end(), [vouched](const kept_link& each) {
    return each.on->ready() && each.on->ready_since() <= vouched;
  });
}

bool server::any_ready() const noexcept { return usable(steady_time::max()); }

link* server::link_for(std::size_t lane, steady_time vouched) noexcept {
  auto& on = *kept_for(lane).on;
  return on.ready() && on.ready_since() <= vouched ? &on : nullptr;
}

/// In which part a link counts its writes: the first whose books are here, if any are.
void server::choose_books(std::size_t lane) {
  std::optional<std::size_t> first, counted;
  for (std::size_t part = lane; part < parts_.size() && !counted; part += links_.size()) {
    if (!parts_[part]) continue;
    if (!first) first = part;
    if (!links_[lane].uncounted[part]) counted = part;
  }
  links_[lane].on->count_in(counted ? counted : first);
}

/// Each link greets for what travels by it.
void server::greet_parts() {
  if (!names_.cut()) return;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    auto& mine = links_[i];
    if (!mine.on->ready()) continue;
    mine.greeted &= parts_;
    mine.uncounted &= parts_;
    choose_books(i);
    for (std::size_t part = i; part < parts_.size(); part += links_.size()) {
      if (!parts_[part] || mine.greeted[part]) continue;
      mine.greeted.set(part);
      mine.on->greet(part);
    }
  }
}

// --- links ----------------------------------------------------------------------------------

server::kept_link& server::kept(const link& of) {
  return *std::find_if(links_.begin(), links_.end(),
                       [&](const auto& each) { return each.on.get() == &of; });
}

steady_time server::open_links(steady_time now) {
  auto next = steady_time::max();
  for (auto& each : links_) {
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
  for (auto& each : links_) {
    if (each.on->ready()) each.on->flush();
  }
}

void server::close(const failure& why) {
  for (auto& each : links_) {
    if (!each.on->closed()) each.on->close(why);
  }
}

void server::retire() {
  retired_ = true;
  for (auto& each : links_) {
    if (!each.on->closed() && each.on->idle()) {
      each.on->close(own_failure("the server has no part of the store any more"));
    }
  }
}

bool server::lingers(steady_time now) const noexcept { return now < used_at_ + linger; }

bool server::gone() const noexcept {
  return retired_ && named_.empty() &&
         std::all_of(links_.begin(), links_.end(),
                     [](const kept_link& each) { return each.on->closed(); });
}

/// At once where it was ready before, else with a growing pause.
steady_time server::next_try(kept_link& of, steady_time now) const {
  if (std::exchange(of.was_ready, false)) {
    of.failures = 0;
    return now;
  }
  const auto round = std::min(of.failures++, 8u);
  const auto pause = std::min(backoff_first_ms << round, backoff_most_ms);
  std::array<unsigned char, 1> random{};
  base::random_bytes(random);
  // Between half and the whole of it, so that processes don't come back all at once.
  return now + std::chrono::milliseconds(pause * (256 + random[0]) / 512);
}

// --- what links tell ------------------------------------------------------------------------

const known_books& server::known(std::size_t part) const noexcept { return events_.known(part); }
const std::string& server::masters() const noexcept { return events_.masters(); }

void server::on_facts(link&, const server_facts& facts) {
  durable_ = keeps_everything(facts);
  if (facts.run.empty() || facts.run != run_) ++life_;
  run_ = facts.run;
  events_.on_facts(*this, facts);
}

void server::on_generation(std::size_t part, const std::string& run, std::uint64_t generation) {
  events_.on_generation(part, run, generation);
}

void server::on_ready(link& of) {
  auto& mine = kept(of);
  mine.was_ready = true;
  mine.out_since.reset();
  mine.greeted.reset();
  mine.uncounted.reset();
  last_failure_.reset();
  const auto now = base::boot_now();
  for (auto& each : links_) {
    if (each.on->closed()) each.open_at = now;
  }
  greet_parts();
  events_.on_up(*this);
}

void server::on_lost(link& of, const failure& why) {
  const auto now = base::boot_now();
  auto& mine = kept(of);
  tokens_.drop();
  if (why.code == "CLUSTERDOWN") mine.was_ready = false;  // it was not for long, nor will it be
  mine.open_at = next_try(mine, now);
  if (!mine.out_since) mine.out_since = now;
  last_failure_ = why;
  events_.on_down(*this, why);
}

void server::on_uncounted(link& of, std::size_t part) {
  auto& mine = kept(of);
  mine.uncounted.set(part);
  choose_books(static_cast<std::size_t>(&mine - links_.data()));
}

void server::on_returned(link&, entry back, const failure& why) {
  events_.on_returned(*this, std::move(back), why);
}

void server::on_redirected(link&, entry back, const failure& why) {
  events_.on_redirected(*this, std::move(back), why);
}

}  // namespace onceguard::redis
