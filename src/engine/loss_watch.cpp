#include "engine/loss_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace onceguard {
namespace {

std::int64_t ms_of(loss_watch::time_point at) noexcept {
  return std::chrono::duration_cast<milliseconds>(at.time_since_epoch()).count();
}

void raise_to(std::atomic<std::int64_t>& what, std::int64_t least) noexcept {
  auto now = what.load();
  while (now < least && !what.compare_exchange_weak(now, least)) {
  }
}

/// The end of something that began at most `length` ago and ends at `until` by the wall clock, by
/// the steady one; 0: it is over, or never was. A wall clock that stepped back makes nothing
/// longer.
std::int64_t steady_end(std::int64_t until_wall, std::int64_t length) {
  const auto left = std::min(until_wall - base::system_clock().wall_ms(), length);
  return left > 0 ? ms_of(base::boot_now()) + left : 0;
}

/// The same, back; 0 stays 0.
std::int64_t wall_end(std::int64_t until_steady, loss_watch::time_point now) {
  if (until_steady <= ms_of(now)) return 0;
  return base::system_clock().wall_ms() + until_steady - ms_of(now);
}

std::string witness_path(const std::string& state_dir) {
  return state_dir.empty() ? "" : state_dir + "/store.witness";
}

}  // namespace

loss_watch::loss_watch(const engine_params& params)
    : rule_(params.after_loss),
      quiet_ms_(params.loss_quiet.count()),
      retention_ms_(params.longest_retention.count()),
      witness_path_(witness_path(params.state_dir)) {
  if (witness_path_.empty()) return;
  std::ifstream file(witness_path_);
  vitals before;
  if (file >> before.identity >> before.generation) {
    last_ = before;
    written_generation_ = before.generation;
  }
  std::int64_t refuse_until = 0;
  std::int64_t flagged_until = 0;
  if (file >> refuse_until >> flagged_until) {
    if (rule_ == after_loss_rule::refuse) refuse_until_ = steady_end(refuse_until, quiet_ms_);
    flagged_until_ = steady_end(flagged_until, retention_ms_);
  }
}

void loss_watch::expect(milliseconds quiet, milliseconds retention) noexcept {
  raise_to(quiet_ms_, quiet.count());
  raise_to(retention_ms_, retention.count());
}

loss_watch::change loss_watch::heard(const vitals& now, time_point at) {
  change what = change::none;
  if (last_) {
    if (last_->identity != now.identity || now.generation < last_->generation) {
      lost(at);
      what = change::lost;
    } else if (last_->forgotten != now.forgotten) {
      what = change::forgotten;
    }
  }
  const bool news = what == change::lost || !last_ || last_->identity != now.identity;
  last_ = now;
  // The generation of the witness may lag: a copy that is older than a second is noticed.
  if (!witness_path_.empty() && (news || now.generation != written_generation_)) {
    write_witness(now, at);
  }
  return what;
}

void loss_watch::lost(time_point at) {
  base::log(base::log_level::error, "store-lost-its-memory",
            {{"after_loss", rule_ == after_loss_rule::refuse ? "refuse" : "flag"}});
  if (rule_ == after_loss_rule::refuse) refuse_until_ = ms_of(at) + quiet_ms_;
  flagged_until_ = ms_of(at) + retention_ms_;
}

void loss_watch::write_witness(const vitals& now, time_point at) {
  // Written beside and renamed, so that a crash leaves the old one or the new one.
  const auto next = witness_path_ + ".next";
  {
    std::ofstream file(next, std::ios::trunc);
    file << now.identity << ' ' << now.generation << ' ' << wall_end(refuse_until_, at) << ' '
         << wall_end(flagged_until_, at) << '\n';
    file.flush();
    if (!file) {
      base::log(base::log_level::warning, "witness-not-written", {{"path", next}});
      return;
    }
  }
  std::error_code ec;
  std::filesystem::rename(next, witness_path_, ec);
  if (ec) {
    base::log(base::log_level::warning, "witness-not-written",
              {{"path", witness_path_}, {"why", ec.message()}});
    return;
  }
  written_generation_ = now.generation;
}

bool loss_watch::refuses(time_point at) const noexcept { return refuses_for(at).count() > 0; }

milliseconds loss_watch::refuses_for(time_point at) const noexcept {
  const auto until = refuse_until_.load(std::memory_order_relaxed);
  if (until == 0) return milliseconds(0);
  return milliseconds(std::max<std::int64_t>(until - ms_of(at), 0));
}

bool loss_watch::maybe_repeated(time_point at) const noexcept {
  const auto until = flagged_until_.load(std::memory_order_relaxed);
  return until != 0 && ms_of(at) < until;
}

}  // namespace onceguard
