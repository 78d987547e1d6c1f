#include "engine/loss_watch.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/log.hpp"

namespace onceguard {
namespace {

std::int64_t ms_of(loss_watch::time_point at) noexcept {
  return std::chrono::duration_cast<milliseconds>(at.time_since_epoch()).count();
}

std::string witness_path(const std::string& state_dir) {
  return state_dir.empty() ? "" : state_dir + "/store.witness";
}

}  // namespace

loss_watch::loss_watch(const engine_params& params)
    : rule_(params.after_loss),
      quiet_(params.loss_quiet),
      retention_(params.longest_retention),
      witness_path_(witness_path(params.state_dir)) {
  if (witness_path_.empty()) return;
  std::ifstream file(witness_path_);
  vitals before;
  if (file >> before.identity >> before.generation) {
    last_ = before;
    written_generation_ = before.generation;
  }
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
  const bool new_identity = !last_ || last_->identity != now.identity;
  last_ = now;
  // The generation of the witness may lag: a copy that is older than a second is noticed.
  if (!witness_path_.empty() && (new_identity || now.generation != written_generation_)) {
    write_witness(now);
  }
  return what;
}

void loss_watch::lost(time_point at) {
  base::log(base::log_level::error, "store-lost-its-memory",
            {{"after_loss", rule_ == after_loss_rule::refuse ? "refuse" : "flag"}});
  if (rule_ == after_loss_rule::refuse) refuse_until_ = ms_of(at) + quiet_.count();
  flagged_until_ = ms_of(at) + retention_.count();
}

void loss_watch::write_witness(const vitals& now) {
  // Written beside and renamed, so that a crash leaves the old one or the new one.
  const auto next = witness_path_ + ".next";
  {
    std::ofstream file(next, std::ios::trunc);
    file << now.identity << ' ' << now.generation << '\n';
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
