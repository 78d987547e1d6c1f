#include "store/sqlite/writer.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace onceguard::sqlite {
namespace {

write_job& job(const call_ptr& queued) { return static_cast<write_job&>(*queued); }

/// Can the connection be trusted after this? Being full or busy is no fault of it.
bool harmless(const failure& failed) noexcept {
  return failed.code() == SQLITE_FULL || failed.code() == SQLITE_BUSY;
}

}  // namespace

writer::writer(const sqlite_params& params, const session& seen)
    : params_(params), checkpointer_(params), identity_(seen.identity()), file_(seen.file()) {
  thread_ = std::thread([this] { run(); });
}

void writer::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
  checkpointer_.stop();
}

void writer::run() {
  for (;;) {
    if (unfinished_.empty()) {
      if (!queue_->wait(calls_, params_.batch_max)) break;
    } else {
      calls_.swap(unfinished_);
      queue_->take(calls_, params_.batch_max);
    }
    serve();
    hand_back();
    keep_log_short();
  }
  table_.reset();
  session_.reset();
}

void writer::serve() {
  if (auto why = make_ready()) return fail_all(*why, false);
  if (auto failed = lock()) return fail_after(*failed, true);
  if (calls_.empty()) return;  // nobody waits any more
  // Nobody was told anything of this batch yet, so its order is free. Who ends a lease comes before
  // who asks for one, and like beside like finds its code and pages in the processor's cache.
  std::stable_partition(calls_.begin(), calls_.end(),
                        [](const call_ptr& queued) { return job(queued).by_holder(); });
  auto failed = carry_out();
  if (failed && is_damage(*failed)) {
    failed = carry_out_past_damage(*failed);
    if (failed && is_damage(*failed)) return serve_one_by_one();
  }
  if (failed) return fail_after(*failed, true);  // before the commit: nothing was carried out
  finish_commit();
}

void writer::finish_commit() {
  if (auto failed = commit()) {
    // Out of room: the log did not get its commit record, and SQLite has undone the rest. After
    // any other failure the record may or may not be on the disk.
    fail_after(*failed, failed->code() == SQLITE_FULL && session_->roll_back());
  }
}

void writer::fail_after(const failure& failure, bool rolled_back) {
  end_transaction(failure);
  if (rolled_back && failure.code() == SQLITE_FULL) {
    answer_what_needs_no_write();
    make_room();
  }
  fail_all(to_error(failure, params_.path, effect::none), !rolled_back);
}

void writer::import_record(std::unique_ptr<session> opened) {
  session_ = std::move(opened);
  table_.emplace(session_->on());
  identity_ = session_->identity();
  // Tokens grow also if the file is an older copy of itself, or a new one.
  last_token_ = std::max(last_token_, static_cast<token>(params_.clock->wall_ms()) * 1'000);
  damaged_records_.forget_all();
  granted_ = session_->metadata().read_meta().granted;
  file_ = session_->file();
}

/// Nothing is granted on whatever lies there now before those who watch the store know of it.
error writer::lost() {
  memory_.changed();
  base::log(base::event::store_file_replaced, {{"store", params_.path}});
  return error(errc::store_lost,
               "sqlite store " + params_.path + ": its file was deleted or replaced");
}

std::optional<error> writer::make_ready() {
  if (session_ && session_->still_there()) return std::nullopt;
  // Told once; from then on, what keeps it from being opened.
  const bool was_open = !lost_ && (session_ || mark_of(params_.path) != file_);
  table_.reset();
  session_.reset();
  try {
    auto opened = session::open(params_, session_use::write);
    if (!opened) {
      // Told again once it can be opened: whatever it is by then, it is not what it was.
      lost_ = lost_ || was_open || opened.error().code == errc::store_lost;
      return was_open ? lost() : opened.error();
    }
    const bool renamed = (*opened)->identity() != identity_;
    const bool older = !renamed && (*opened)->metadata().read_meta().granted < granted_;
    const bool moved = (*opened)->file() != file_;
    // Kept until it was told, also where what follows fails.
    lost_ = lost_ || was_open || renamed || older || moved;
    if (older) (*opened)->begin_another_memory();
    import_record(std::move(*opened));
    if (std::exchange(lost_, false)) return lost();
  } catch (const failure& failed) {
    table_.reset();
    session_.reset();
    return to_error(failed, params_.path, effect::none);
  }
  return std::nullopt;
}

std::optional<failure> writer::lock() {
  const auto gone = [](const call_ptr& queued) { return queued->dropped(); };
  try {
    while (!session_->try_begin()) {
      give_up_sweeps();
      answer_what_needs_no_write();
      std::erase_if(calls_, gone);
      if (calls_.empty()) return std::nullopt;
      wait_one_step();
      queue_->take(calls_, params_.batch_max - std::min(params_.batch_max, calls_.size()));
    }
  } catch (const failure& failed) {
    return failed;
  }
  std::erase_if(calls_, [](const call_ptr& queued) { return !queued->take(); });
  if (calls_.empty()) session_->roll_back();
  return std::nullopt;
}

/// A sweep that has begun does not wait for the lock: what it got so far is its result.
void writer::give_up_sweeps() {
  const auto begun = std::stable_partition(
      calls_.begin(), calls_.end(), [](const auto& queued) { return !job(queued).unfinished(); });
  if (begun == calls_.end()) return;
  finished_.assign(begun, calls_.end());
  calls_.erase(begun, calls_.end());
  deliver_all(finished_);
}

/// While another process holds the lock, or there is no room.
void writer::answer_what_needs_no_write() {
  const auto seen = [](const call_ptr& queued) { return job(queued).examined(); };
  if (!session_ || std::all_of(calls_.begin(), calls_.end(), seen)) return;
  try {
    session_->on().run("BEGIN");
    reading_pass pass(session_->metadata(), *table_);
    for (const auto& queued : calls_) job(queued).try_reading(pass);
  } catch (const failure& failed) {
    // What was not looked at fails, or waits, as it would without.
    base::log(base::event::read_pass_failed, {{"store", params_.path}, {"why", failed.what()}});
  }
  session_->roll_back();
  const auto answered = std::stable_partition(
      calls_.begin(), calls_.end(),
      [](const call_ptr& queued) { return !(job(queued).answered() && queued->take()); });
  finished_.assign(answered, calls_.end());
  calls_.erase(answered, calls_.end());
  deliver_all(finished_);
}

/// A log that is moved begins anew in the room that it has.
void writer::make_room() {
  constexpr std::chrono::seconds between{1};
  const auto now = base::boot_now();
  if (!session_ || now - room_tried_ < between) return;
  if (!session_->make_room()) room_tried_ = now;
}

std::optional<failure> writer::carry_out() {
  try {
    transaction transaction(session_->metadata(), *table_, last_token_, &damaged_records_);
    const bool grants = memory_.known();
    for (const auto& queued : calls_) {
      if (grants || !job(queued).claims()) {
        job(queued).carry_out(transaction);
        continue;
      }
      job(queued).fail(error(errc::store_lost, "sqlite store " + params_.path +
                                                   ": its file is not the one that was known"),
                       false);
    }
    transaction.finish();
    last_token_ = std::max(last_token_, transaction.last_token());
    granting_ = transaction.granted();
    return std::nullopt;
  } catch (const failure& failed) {
    return failed;
  }
}

std::optional<failure> writer::begin_anew() {
  if (!session_->roll_back()) return failure(SQLITE_ERROR, "a transaction could not be undone");
  try {
    // Whoever writes meanwhile is done soon.
    for (auto left = params_.timeout.count() * 2; !session_->try_begin(); --left) {
      if (left <= 0) return failure(SQLITE_BUSY, "another process holds the lock");
      wait_one_step();
    }
    return std::nullopt;
  } catch (const failure& failed) {
    return failed;
  }
}

/// SQLite writes nothing any more in a transaction that met a damaged page. So it is found out
/// whose records stand on such pages, and the rest is done in a new one that does not touch them.
std::optional<failure> writer::carry_out_past_damage(const failure& first) {
  base::log(base::event::page_unreadable,
            {{"store", params_.path}, {"why", first.what()}, {"code", first.extended_code()}});
  const auto known = [this] { return damaged_records_.size() + table_->left_alone(); };
  for (;;) {
    if (auto failed = begin_anew()) return failed;
    try {
      transaction transaction(session_->metadata(), *table_, last_token_, &damaged_records_);
      for (const auto& queued : calls_)
        job(queued).probe(transaction, *table_, damaged_records_, params_.path);
    } catch (const failure& failed) {
      return failed;
    }
    if (auto failed = begin_anew()) return failed;
    const auto before = known();
    auto failed = carry_out();
    // A sweep finds out more as it goes.
    if (!failed || !is_damage(*failed) || known() == before) return failed;
  }
}

/// Where a page is damaged that is not of these records (that of an index, the last of the table):
/// who does not need it is served.
void writer::serve_one_by_one() {
  std::vector<call_ptr> all;
  all.swap(calls_);
  for (auto& each : all) {
    calls_.assign(1, each);
    auto failed = session_ ? begin_anew() : failure(SQLITE_CORRUPT, "the file is damaged");
    if (!failed) failed = carry_out();
    if (!failed) {
      finish_commit();
    } else {
      job(each).fail(to_error(*failed, params_.path, effect::none), false);
      if (session_ && !session_->roll_back()) end_transaction(*failed);
    }
  }
  calls_.swap(all);
}

std::optional<failure> writer::commit() {
  try {
    session_->commit();
    granted_ = std::max(granted_, granting_);
    return std::nullopt;
  } catch (const failure& failed) {
    return failed;
  }
}

void writer::end_transaction(const failure& after) {
  const bool rolled_back = session_->roll_back();
  base::log(base::event::transaction_failed,
            {{"store", params_.path}, {"why", after.what()}, {"code", after.extended_code()}});
  if (rolled_back && harmless(after)) return;
  // A failed flush is never trusted: what is true is what a new connection finds.
  table_.reset();
  session_.reset();
}

void writer::fail_all(const error& why, bool of_commit) {
  for (const auto& queued : calls_) {
    // Those that were not begun are claimed first, so that the caller's own end is not crossed.
    if (queued->take()) job(queued).fail(why, of_commit);
  }
}

void writer::hand_back() {
  for (auto& queued : calls_) {
    (job(queued).unfinished() ? unfinished_ : finished_).push_back(std::move(queued));
  }
  calls_.clear();
  deliver_all(finished_);
}

/// The log begins anew only where all of it is moved and nobody has written since. So most of it is
/// moved beside the writer, and what came meanwhile, which is little, by the writer itself.
void writer::keep_log_short() {
  if (checkpointer_.ended()) {
    if (session_) session_->move_log();
  } else if (session_ && session_->log_is_long()) {
    checkpointer_.begin();
  }
}

}  // namespace onceguard::sqlite
