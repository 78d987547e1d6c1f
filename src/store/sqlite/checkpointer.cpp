#include "store/sqlite/checkpointer.hpp"

#include "base/log.hpp"

namespace onceguard::sqlite {

checkpointer::checkpointer(const sqlite_params& params) : params_(params) {
  thread_ = std::thread([this] { run(); });
}

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
    phase_ = phase::requested;
  }
  changed_.notify_one();
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

/// Failures are only logged here: the writer then runs the checkpoint itself. The file is open only
/// meanwhile, so that this thread never keeps files that were replaced.
void checkpointer::move() {
  const auto unable = [this](const std::string& why) {
    base::log(base::event::checkpoint_failed, {{"store", params_.path}, {"why", why}});
  };
  try {
    auto opened = session::open(params_, session_use::read, if_missing::fail);
    if (!opened) return unable(opened.error().detail);
    (*opened)->move_log();
    (*opened)->flush_file();
  } catch (const failure& failed) {
    unable(failed.what());
  }
}

}  // namespace onceguard::sqlite
