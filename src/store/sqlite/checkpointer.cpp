#include "store/sqlite/checkpointer.hpp"

#include <system_error>

#include "base/log.hpp"

namespace onceguard::sqlite {

checkpointer::checkpointer(const sqlite_params& params) : params_(params) {}

void checkpointer::stop() {
  {
    const std::lock_guard lock(mutex_);
    phase_ = phase::closing;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void checkpointer::begin() {
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != phase::idle) return;
    phase_ = start_thread() ? phase::requested : phase::ended;
  }
  changed_.notify_one();
}

/// A short life writes no log that is long enough to need the thread.
bool checkpointer::start_thread() {
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread([this] { run(); });
    return true;
  } catch (const std::system_error& failed) {
    unable(failed.what());
    return false;
  }
}

bool checkpointer::ended() {
  const std::lock_guard lock(mutex_);
  if (phase_ != phase::ended) return false;
  phase_ = phase::idle;
  return true;
}

void checkpointer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return phase_ == phase::requested || phase_ == phase::closing; });
    if (phase_ == phase::closing) break;
    lock.unlock();
    move();
    lock.lock();
    if (phase_ == phase::requested) phase_ = phase::ended;
  }
}

/// Failures are only logged: the writer then runs the checkpoint itself.
void checkpointer::unable(const std::string& why) const {
  base::log(base::event::checkpoint_failed, {{"store", params_.path}, {"why", why}});
}

/// The file is open only meanwhile, so that this thread never keeps files that were replaced.
void checkpointer::move() {
  try {
    auto opened = session::open(params_, session_use::read, if_missing::fail);
    if (!opened) return unable(opened.error().detail);
    (*opened)->wal().checkpoint(params_.timeout);
  } catch (const failure& failed) {
    unable(failed.what());
  }
}

}  // namespace onceguard::sqlite
