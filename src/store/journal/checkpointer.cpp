#include "store/journal/checkpointer.hpp"

#include <algorithm>
#include <pthread.h>
#include <system_error>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "store/journal/checkpoint.hpp"

namespace onceguard::journal {

void checkpointer::begin_if_due() {
  const auto appended = journal_.log->appended();
  const auto size = std::uint64_t{journal_.table.size()} * sizeof(key_entry);
  if (appended - last_ < std::max(params_.checkpoint_after, size) || running_) return;
  if (thread_.joinable()) thread_.join();
  last_ = appended;
  running_ = true;
  if (params_.run_soon) return run();
  try {
    thread_ = std::thread([this] {
      ::pthread_setname_np(::pthread_self(), "og-checkpoint");
      run();
    });
  } catch (const std::system_error& failed) {
    running_ = false;
    report(failed.what());
  }
}

void checkpointer::stop() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void checkpointer::report(const std::string& why) const {
  base::log(base::event::checkpoint_failed, {{"store", journal_.location()}, {"why", why}});
}

void checkpointer::run() {
  const auto begun = base::boot_now();
  const auto written = write_checkpoint(journal_, stopped_);
  if (!written) {
    report(written.error().detail);
  } else if (*written) {
    using std::chrono::milliseconds;
    const auto took = std::chrono::duration_cast<milliseconds>(base::boot_now() - begun);
    base::log(base::event::checkpoint_written, {{"store", journal_.location()},
                                                {"keys", (*written)->keys},
                                                {"bytes", (*written)->bytes},
                                                {"after_ms", took.count()}});
  }
  running_ = false;
}

}  // namespace onceguard::journal
