#include "store/journal/writer.hpp"

#include <algorithm>
#include <pthread.h>

#include "base/log.hpp"

namespace onceguard::journal {
namespace {

writer_call& job(const call_ptr& queued) { return static_cast<writer_call&>(*queued); }

/// The retention clock is stored so often, at least, that a reboot costs it no more than that.
constexpr std::int64_t time_kept_every = 3'600'000;

bool has_unsaved_state(const open_journal& opened, const moment& present) {
  return opened.guard.memory() != opened.state.wall ||
         present.now.wall - opened.state.last_wall >= time_kept_every;
}

}  // namespace

writer::writer(const journal_params& params, open_journal& opened)
    : params_(params),
      journal_(opened),
      queue_(params.make_queue([this] { run(); })),
      cache_(params.cache_size),
      sweeper_(*params.clock, opened),
      checkpointer_(params, opened) {
  if (params.run_soon) {
    run();  // finds nothing: the first call begins a turn
    return;
  }
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "og-writer");
    run();
  });
}

void writer::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
  if (params_.run_soon) run();
  checkpointer_.stop();
}

void writer::run() {
  while (take_calls()) {
    serve();
    hand_back();
    if (reclaiming_) reclaim();
    checkpointer_.begin_if_due();
  }
}

bool writer::take_calls() {
  if (unfinished_.empty() && (!reclaiming_ || queue_->closed())) {
    if (params_.run_soon) return queue_->poll(calls_);
    return queue_->wait(calls_, params_.batch_max);
  }
  calls_.swap(unfinished_);
  queue_->take(calls_, params_.batch_max);
  return true;
}

void writer::serve() {
  std::erase_if(calls_, [](const call_ptr& queued) { return !queued->take(); });
  if (calls_.empty()) return;
  const auto there = journal_.check_file(*journal_.log->segments().back());
  if (!there) {
    for (const auto& queued : calls_) job(queued).fail(there.error());
    return;
  }
  const auto present = [this] {
    const std::lock_guard locked(journal_.lock);
    return journal_.read_clocks();
  }();
  serve_writes(present);
  for (const auto& queued : calls_) {
    if (job(queued).kind() == job_kind::check) {
      static_cast<write_check&>(job(queued)).answer(check_writes());
    } else if (job(queued).kind() == job_kind::sweep) {
      serve_sweep(static_cast<sweep_job&>(job(queued)), present);
    }
  }
}

void writer::serve_writes(const moment& present) {
  // No caller has a result of this batch yet, so its order is free. Those that end leases come
  // first.
  std::stable_partition(calls_.begin(), calls_.end(),
                        [](const call_ptr& queued) { return job(queued).by_holder(); });
  std::vector<write_job*> jobs;
  for (const auto& queued : calls_) {
    if (job(queued).kind() == job_kind::write) {
      jobs.push_back(&static_cast<write_job&>(job(queued)));
    }
  }
  std::size_t next = 0;
  do {
    serve_group(jobs, next, present);
  } while (next < jobs.size());
}

/// Carries out jobs from `next` on.
void writer::serve_group(const std::vector<write_job*>& jobs, std::size_t& next,
                         const moment& present) {
  // All of a group is in memory twice, and one job is in one group as a whole.
  constexpr std::uint64_t most_bytes = std::uint64_t{8} << 20;
  group within(journal_, cache_, present);
  std::vector<write_job*> served;
  while (next < jobs.size() && within.bytes() < most_bytes) {
    served.push_back(jobs[next++]);
    served.back()->carry_out(within);
  }
  if (within.writes() == 0 && !has_unsaved_state(journal_, present)) return;
  const auto claims = std::ranges::find_if_not(served, &write_job::by_holder);
  const bool has_claims = claims != served.end();
  const auto written = write(within, has_claims ? room::for_claims : room::for_holders);
  if (written) return;
  const auto& why = written.error();
  report(why);
  if (why.code == errc::store_full && has_claims && claims != served.begin()) {
    // There may be room for what holders say alone, which stands first.
    answer_refused({claims, served.end()}, present, why);
    served.erase(claims, served.end());
    group of_holders(journal_, cache_, present);
    for (auto* each : served) each->carry_out(of_holders);
    const auto alone = write(of_holders, room::for_holders);
    if (alone) return;
    report(alone.error());
    return answer_refused(served, present, alone.error());
  }
  answer_refused(served, present, why);
}

/// `why` nothing was written, or may have been.
void writer::answer_refused(const std::vector<write_job*>& jobs, const moment& present,
                            const error& why) {
  if (why.effect == effect::none) return answer_without_writing(jobs, present, why);
  for (auto* each : jobs) each->fail(why);
}

/// One line of each reason in five minutes. The engine says when the store is away, and back.
void writer::report(const error& why) {
  constexpr std::int64_t pause = 300'000;
  const auto now = params_.clock->boot_ms();
  const auto [found, first] = reported_.try_emplace(why.detail, reported{now, 0});
  auto& before = found->second;
  if (!first && now - before.time < pause) {
    ++before.left_out;
    return;
  }
  auto text = why.detail;
  if (before.left_out > 0) {
    text += " (and " + std::to_string(before.left_out) + " times since the last such line)";
  }
  before = {now, 0};
  base::log(
      base::event::transaction_failed,
      {{"store", journal_.location()}, {"why", text}, {"code", std::string(name_of(why.code))}});
}

/// Nothing can be written. What needs no write is answered by what is on the disk.
void writer::answer_without_writing(const std::vector<write_job*>& jobs, const moment& present,
                                    const error& why) {
  for (auto* each : jobs) {
    group alone(journal_, cache_, present);
    each->carry_out(alone);
    if (alone.writes() != 0) each->fail(why);
  }
}

result<void> writer::write(group& within, room use) {
  if (auto written = within.commit(use); !written) return written;
  // A flush may take seconds. If the file was replaced meanwhile, this group is where nobody else
  // reads. What can't be known now is known before the next group.
  const auto there = journal_.check_file(*journal_.log->segments().back());
  if (journal_.is_lost()) {
    auto why = there.error();
    why.effect = effect::unknown;
    return why;
  }
  within.publish();
  return {};
}

result<void> writer::check_writes() {
  constexpr std::uint64_t small_group = 65'536;
  return journal_.make_room(small_group, room::for_claims);
}

void writer::serve_sweep(sweep_job& job, const moment& present) {
  constexpr std::size_t slice = 8'192;
  constexpr std::size_t least = 65'536;
  constexpr std::size_t calls_for_all = 50;
  const auto all = journal_.table.slots();
  if (!job.begun()) job.begin(std::min(all, std::max(least, all / calls_for_all)));
  const auto taken = std::min(slice, job.slots_left());
  auto slots = taken;
  job.removed(sweeper_.remove_expired(present, slots, job.left()));
  job.slots_left() -= taken - slots;
  if (!job.unfinished()) reclaiming_ = true;
}

/// One step. Claims and settles get their turn between the steps.
void writer::reclaim() {
  reclaiming_ = !journal_.is_lost() && sweeper_.has_work();
  if (!reclaiming_) return;
  if (journal_.log->segments().size() == 1) {
    // On a full disk the only one goes, too: what lives is moved into the reserve.
    if (auto begun = journal_.begin_segment(0, room::for_removal); !begun) {
      report(begun.error());
      reclaiming_ = false;
      return;
    }
  }
  auto next = sweeper_.next_moves();
  result<void> done;
  if (!next.moves.empty()) {
    done = write([&](group& within) {
      for (auto& each : next.moves) within.apply(std::move(each));
    });
  } else if (!next.more) {
    reclaiming_ = sweeper_.oldest_is_unneeded();
    if (reclaiming_) done = remove_oldest();
  }
  if (done) return;
  report(done.error());
  sweeper_.begin_anew();
  reclaiming_ = false;  // the next sweep tries again
}

/// After a crash in between the next sweep removes it.
result<void> writer::remove_oldest() {
  const auto& segments = journal_.log->segments();
  const auto next = segments.front()->number + 1;
  // The state stands in the last segment, which must have one before the others go.
  if (journal_.state.first_segment < next || segments.back()->end == segment_header_size) {
    auto written = write([next](group& within) { within.begin_log_with(next); });
    if (!written) return written;
  }
  if (auto removed = sweeper_.remove_oldest(); !removed) return removed;
  // On a full disk, what removes the next segment comes before claims. Without room still, the next
  // claim finds that out.
  static_cast<void>(journal_.log->keep_reserve());
  return {};
}

result<void> writer::write(const std::function<void(group&)>& fill) {
  const auto present = [this] {
    const std::lock_guard locked(journal_.lock);
    return journal_.poll_clocks();
  }();
  group within(journal_, cache_, present);
  fill(within);
  return write(within, room::for_removal);
}

void writer::hand_back() {
  for (auto& queued : calls_) {
    (job(queued).unfinished() ? unfinished_ : finished_).push_back(std::move(queued));
  }
  calls_.clear();
  deliver_all(finished_);
}

}  // namespace onceguard::journal
