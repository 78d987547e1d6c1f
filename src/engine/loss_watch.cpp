#include "engine/loss_watch.hpp"

#include <algorithm>
#include <chrono>

#include "base/log.hpp"

namespace onceguard {
namespace {

std::int64_t ms_of(loss_watch::time_point time) noexcept {
  return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
}

void raise_to(std::atomic<std::int64_t>& atomic, std::int64_t least) noexcept {
  auto now = atomic.load();
  while (now < least && !atomic.compare_exchange_weak(now, least)) {
  }
}

/// A length as a file has it.
std::int64_t bounded_ms(std::int64_t length) { return base::bounded(milliseconds(length)).count(); }

/// Converts the end of a period of at most `length` from the wall clock to the boot clock. 0: the
/// period is over, or there was none. The limit `length` keeps a wall clock that stepped back from
/// making the period longer.
std::int64_t boot_end(std::int64_t until_wall, std::int64_t length) {
  const auto left = std::min(until_wall - base::system_clock().wall_ms(), length);
  return left > 0 ? ms_of(base::boot_now()) + left : 0;
}

/// The reverse conversion; 0 stays 0.
std::int64_t wall_end(std::int64_t until_boot, loss_watch::time_point now) {
  if (until_boot <= ms_of(now)) return 0;
  return base::system_clock().wall_ms() + until_boot - ms_of(now);
}

}  // namespace

loss_watch::loss_watch(const engine_params& params)
    : rule_(params.after_loss),
      quiet_ms_(params.loss_quiet.count()),
      retention_ms_(params.longest_retention.count()),
      witness_(params.state_dir) {
  const auto before = witness_.read();
  if (!before) return;
  last_.emplace();
  last_->identity = before->identity;
  last_->generation = written_generation_ = before->generation;
  // By the rules of the loss: what ran then may run for longer than the rules of today allow.
  refuse_length_ = std::max(bounded_ms(before->refuse_length), quiet_ms_.load());
  flagged_length_ = std::max(bounded_ms(before->flagged_length), retention_ms_.load());
  if (rule_ == after_loss_rule::refuse) {
    refuse_until_ = boot_end(before->refuse_until_wall, refuse_length_);
  }
  flagged_until_ = boot_end(before->flagged_until_wall, flagged_length_);
}

void loss_watch::expect(milliseconds quiet, milliseconds retention) noexcept {
  raise_to(quiet_ms_, base::bounded(quiet).count());
  raise_to(retention_ms_, base::bounded(retention).count());
}

loss_watch::change loss_watch::compare(const vitals& now, time_point time) {
  change value = change::none;
  if (last_) {
    if (last_->identity != now.identity || now.generation < last_->generation) {
      lost(time);
      value = change::lost;
    } else if (last_->forgotten != now.forgotten) {
      value = change::forgotten;
    }
  }
  const bool changed = value == change::lost || !last_ || last_->identity != now.identity;
  last_ = now;
  // The generation in the witness may lag behind: a copy is noticed by what was granted since it
  // was made, but for the last second before the process ended.
  if (changed || now.generation != written_generation_) {
    written_generation_ = now.generation;
    testimony current{now.identity,
                      now.generation,
                      wall_end(refuse_until_, time),
                      wall_end(flagged_until_, time),
                      0,
                      0};
    if (current.refuse_until_wall != 0) current.refuse_length = refuse_length_;
    if (current.flagged_until_wall != 0) current.flagged_length = flagged_length_;
    // On the disk before anything is granted: after a crash nothing else would tell of the loss.
    if (changed) {
      witness_.write(current);
    } else {
      witness_.write_soon(std::move(current));
    }
  }
  return value;
}

void loss_watch::lost(time_point time) {
  base::log(base::event::store_lost_its_memory,
            {{"after_loss", rule_ == after_loss_rule::refuse ? "refuse" : "flag"}});
  refuse_length_ = std::max(refuse_length_, quiet_ms_.load());
  flagged_length_ = std::max(flagged_length_, retention_ms_.load());
  if (rule_ == after_loss_rule::refuse) raise_to(refuse_until_, ms_of(time) + quiet_ms_);
  raise_to(flagged_until_, ms_of(time) + retention_ms_);
}

milliseconds loss_watch::refuses_for(time_point time) const noexcept {
  const auto until = refuse_until_.load(std::memory_order_relaxed);
  if (until == 0) return milliseconds(0);
  return milliseconds(std::max<std::int64_t>(until - ms_of(time), 0));
}

bool loss_watch::maybe_repeated(time_point time) const noexcept {
  const auto until = flagged_until_.load(std::memory_order_relaxed);
  return until != 0 && ms_of(time) < until;
}

}  // namespace onceguard
