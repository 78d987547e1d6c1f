#include "cli/services/worker_pauses.hpp"

#include "cli/command.hpp"

namespace onceguard::cli::services {

bool worker_pauses::paused(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return paused_.contains(name);
}

void worker_pauses::pause(const std::string& name) {
  const std::lock_guard lock(mutex_);
  paused_.insert(name);
  const auto [begin, end] = running_.equal_range(name);
  for (auto one = begin; one != end; ++one) one->second.request_stop();
}

void worker_pauses::resume(const std::string& name) {
  const std::lock_guard lock(mutex_);
  paused_.erase(name);
  changed_.notify_all();
}

int worker_pauses::run(const std::string& name, const std::stop_token& stop,
                       const std::function<int(std::stop_token)>& work) {
  while (true) {
    std::stop_source part;
    auto listed = running_.end();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return !paused_.contains(name); });
      if (stop.stop_requested()) return exit_ok;
      listed = running_.emplace(name, part);
    }
    int code = exit_ok;
    {
      const std::stop_callback ends(stop, [&part] { part.request_stop(); });
      code = work(part.get_token());
    }
    const std::lock_guard lock(mutex_);
    running_.erase(listed);
    const bool interrupted = part.stop_requested() && !stop.stop_requested();
    if (!interrupted || code != exit_ok) return code;
  }
}

}  // namespace onceguard::cli::services
