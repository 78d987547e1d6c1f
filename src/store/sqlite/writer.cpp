#include "store/sqlite/writer.hpp"

#include <algorithm>
#include <pthread.h>
#include <utility>

#include "base/log.hpp"

namespace onceguard::sqlite {
namespace {

write_job& job(const call_ptr& queued) { return static_cast<write_job&>(*queued); }

/// Can the connection still be trusted? A full disk or a busy database is no fault of the
/// connection.
bool harmless(const failure& failed) noexcept {
  return failed.code() == SQLITE_FULL || failed.code() == SQLITE_BUSY;
}

}  // namespace

writer::writer(const sqlite_params& params, const session& seen)
    : params_(params),
      checkpointer_(params),
      absence_(params.recreate_after),
      identity_(seen.identity()),
      file_(seen.file()) {
  thread_ = std::thread([this] { run(); });
}

void writer::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
  checkpointer_.stop();
}

void writer::run() {
  ::pthread_setname_np(::pthread_self(), "og-writer");
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
  if (calls_.empty()) return;  // every caller has given up
  // No caller has a result of this batch yet, so its order is free. Jobs that end leases come
  // before jobs that ask for leases, and jobs of one kind find their code and pages in the
  // processor's cache.
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
    // Out of room: the write-ahead log did not get its commit record, and SQLite has rolled back
    // the rest. After any other failure the record may or may not be on the disk.
    return fail_after(*failed, failed->code() == SQLITE_FULL && session_->roll_back());
  }
  // A flush may take seconds, and so may a process that was stopped. If the file was replaced
  // meanwhile, this commit is in a file that nobody else reads.
  if (session_->still_there()) return;
  table_.reset();
  session_.reset();
  fail_all(lost(), true);
}

void writer::fail_after(const failure& failure, bool rolled_back) {
  end_transaction(failure);
  if (rolled_back && failure.code() == SQLITE_FULL) {
    answer_what_needs_no_write();
    make_room();
  }
  fail_all(to_error(failure, params_.path, effect::none), !rolled_back);
}

void writer::take_over(std::unique_ptr<session> opened) {
  session_ = std::move(opened);
  table_.emplace(session_->on());
  identity_ = session_->identity();
  // Tokens grow even if the file is an older copy of itself, or a new one.
  last_token_ = std::max(last_token_, static_cast<token>(params_.clock->wall_ms()) * 1'000);
  damaged_records_.forget_all();
  written_ = session_->metadata().read_meta();
  file_ = session_->file();
}

/// Every commit raises the last token, so that a copy from before any of them shows, also one from
/// between a claim and its completion. A process that opens the file takes tokens from the wall
/// clock, and so may pass what is missing with its first claim: the leases are compared, too.
bool writer::is_older(const meta& found) const noexcept {
  return found.last_token < written_.last_token || found.granted < written_.granted;
}

/// No claim is granted on the present file before the pollers of the store know of the change.
error writer::lost() {
  memory_.changed();
  base::log(base::event::store_file_replaced, {{"store", params_.path}});
  return error(errc::store_lost,
               "sqlite store " + params_.path + ": its file was deleted or replaced");
}

std::optional<error> writer::make_ready() {
  if (session_ && session_->still_there()) return std::nullopt;
  // Reported once; after that, the error is the one that keeps the file from being opened.
  const bool was_open = !lost_ && (session_ || mark_of(params_.path) != file_);
  table_.reset();
  session_.reset();
  try {
    const auto missing = absence_.is_final(params_.path) ? if_missing::create : if_missing::fail;
    auto opened = session::open(params_, session_use::write, missing);
    if (!opened) {
      // Reported again once a file can be opened: that file is not the former one.
      lost_ = lost_ || was_open || opened.error().code == errc::store_lost;
      return was_open ? lost() : opened.error();
    }
    const bool renamed = (*opened)->identity() != identity_;
    const bool older = !renamed && is_older((*opened)->metadata().read_meta());
    const bool moved = (*opened)->file() != file_;
    // Kept until it is reported, also if a step below fails.
    lost_ = lost_ || was_open || renamed || older || moved;
    if (older) (*opened)->begin_another_memory();
    take_over(std::move(*opened));
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

/// A sweep that has begun does not wait for the lock: its result is what it removed so far.
void writer::give_up_sweeps() {
  const auto begun = std::stable_partition(
      calls_.begin(), calls_.end(), [](const auto& queued) { return !job(queued).unfinished(); });
  if (begun == calls_.end()) return;
  finished_.assign(begun, calls_.end());
  calls_.erase(begun, calls_.end());
  deliver_all(finished_);
}

/// Used while another process holds the lock, or while there is no room.
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

/// After a checkpoint the write-ahead log restarts in the room that it has.
void writer::make_room() {
  constexpr std::chrono::seconds between{1};
  const auto now = base::boot_now();
  if (!session_ || now - room_tried_ < between) return;
  if (!session_->wal().make_room()) room_tried_ = now;
}

std::optional<failure> writer::carry_out() {
  try {
    transaction transaction(session_->metadata(), *table_, last_token_, &damaged_records_);
    // Somebody wrote an older copy over the open file. It is opened anew, as another memory.
    // Another process may have noticed it first, and raised the counters since: the identity tells.
    if (is_older(transaction.stored()) || transaction.stored().identity != identity_) {
      return failure(SQLITE_IOERR, "the file went back to an older state");
    }
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
    // Before the commit: one that fails may be on the disk all the same, with its tokens.
    last_token_ = std::max(last_token_, transaction.last_token());
    writing_ = transaction.stored();
    return std::nullopt;
  } catch (const failure& failed) {
    return failed;
  }
}

std::optional<failure> writer::begin_anew() {
  if (!session_->roll_back()) return failure(SQLITE_ERROR, "a transaction could not be undone");
  try {
    // Another process that writes meanwhile is done soon.
    for (auto left = params_.timeout.count() * 2; !session_->try_begin(); --left) {
      if (left <= 0) return failure(SQLITE_BUSY, "another process holds the lock");
      wait_one_step();
    }
    return std::nullopt;
  } catch (const failure& failed) {
    return failed;
  }
}

/// After a damaged page, SQLite writes nothing more in the transaction. Therefore probes find the
/// records on damaged pages, and a new transaction carries out the rest without touching these
/// records.
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
    // A sweep may find further damaged pages as it goes.
    if (!failed || !is_damage(*failed) || known() == before) return failed;
  }
}

/// For a damaged page that holds none of these records (a page of an index, the last page of the
/// table): the jobs that do not need the page are still served.
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
    written_ = std::move(writing_);
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
  // After a failed flush nothing is trusted but what a new connection finds.
  table_.reset();
  session_.reset();
}

void writer::fail_all(const error& why, bool of_commit) {
  for (const auto& queued : calls_) {
    // Calls that were not begun are taken first, so that they can't time out at the same time.
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

/// The write-ahead log restarts only if all of it is in the file and nobody has written since. So
/// the checkpointer copies most of it beside the writer, and the writer itself copies the little
/// that came meanwhile.
void writer::keep_log_short() {
  if (checkpointer_.ended()) {
    if (session_) session_->wal().checkpoint();
  } else if (session_ && session_->wal().is_long()) {
    checkpointer_.begin();
  }
}

}  // namespace onceguard::sqlite
