#include "store/sqlite/writer.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace onceguard::sqlite {
namespace {

write_job& job(const call_ptr& queued) { return static_cast<write_job&>(*queued); }

/// Can the connection be trusted after this? Being full or busy is no fault of it.
bool harmless(const failure& failed) noexcept {
  return failed.code() == SQLITE_FULL || failed.code() == SQLITE_BUSY;
}

}  // namespace

writer::writer(const sqlite_params& params, std::unique_ptr<session> opened)
    : params_(params), mover_(params) {
  adopt(std::move(opened));
  thread_ = std::thread([this] { run(); });
}

void writer::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
  mover_.stop();
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
  try {
    if (auto failed = lock()) {
      end_transaction(*failed);
      return fail_all(to_error(*failed, params_.path, effect::none), false);
    }
    if (calls_.empty()) return;  // nobody waits any more
    carry_out();
  } catch (const failure& failed) {
    // Before the commit, so nothing was carried out.
    end_transaction(failed);
    return fail_all(to_error(failed, params_.path, effect::none), false);
  }
  if (auto failed = commit()) {
    // Out of room: the log did not get its commit record, and SQLite has undone the rest. After
    // any other failure the record may or may not be on the disk.
    const bool undone = failed->code() == SQLITE_FULL && session_->roll_back();
    end_transaction(*failed);
    fail_all(to_error(*failed, params_.path, effect::none), !undone);
  }
}

void writer::adopt(std::unique_ptr<session> opened) {
  session_ = std::move(opened);
  table_.emplace(session_->on());
  identity_ = session_->identity();
  granted_ = session_->books().read_meta().granted;
  file_ = session_->file();
}

/// Nothing is granted on whatever lies there now before those who watch the store know of it.
error writer::lost() {
  memory_.changed();
  base::log(base::log_level::error, "the store's file was deleted or replaced",
            {{"store", params_.path}});
  return error(errc::store_lost,
               "sqlite store " + params_.path + ": its file was deleted or replaced");
}

std::optional<error> writer::make_ready() {
  if (session_ && session_->in_place()) return std::nullopt;
  const bool was_open = session_ != nullptr;
  table_.reset();
  session_.reset();
  try {
    auto opened = session::open(params_, session_use::write);
    if (!opened) return was_open ? lost() : opened.error();
    const bool renamed = (*opened)->identity() != identity_;
    const bool older = !renamed && (*opened)->books().read_meta().granted < granted_;
    if (older) (*opened)->begin_another_memory();
    const bool another = renamed || older || (*opened)->file() != file_;
    adopt(std::move(*opened));
    if (was_open || another) return lost();
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

void writer::carry_out() {
  // Nobody was told anything of this batch yet, so its order is free. Who ends a lease comes before
  // who asks for one, and like beside like finds its code and pages in the processor's cache.
  std::stable_partition(calls_.begin(), calls_.end(),
                        [](const call_ptr& queued) { return job(queued).by_holder(); });
  transaction in(session_->books(), *table_, last_token_);
  const bool grants = memory_.known();
  for (const auto& queued : calls_) {
    if (grants || !job(queued).claims()) {
      job(queued).carry_out(in);
      continue;
    }
    job(queued).fail(error(errc::store_lost, "sqlite store " + params_.path +
                                                 ": its file is not the one that was known"),
                     false);
  }
  in.finish();
  last_token_ = std::max(last_token_, in.last_token());
  granting_ = in.granted();
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
  const bool undone = session_->roll_back();
  base::log_recurring(base::log_level::error, "a transaction failed",
                      {{"store", params_.path},
                       {"why", after.what()},
                       {"code", std::to_string(after.extended_code())}});
  if (undone && harmless(after)) return;
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
  if (mover_.ended()) {
    if (session_) session_->move_log();
  } else if (session_ && session_->log_is_long()) {
    mover_.begin();
  }
}

}  // namespace onceguard::sqlite
