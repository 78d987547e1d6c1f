// Which workers of `onceguard consume` and `onceguard relay` take no messages for now.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>

#include "admin/worker_api.hpp"

namespace onceguard::cli::services {

/// It outlives a reload: what an operator paused stays so. Thread-safe.
class worker_pauses final : public admin::worker_pauses {
 public:
  [[nodiscard]] bool paused(const std::string& name) const override;
  void pause(const std::string& name) override;
  void resume(const std::string& name) override;

  /// Runs `work` until it ends by itself or a stop is requested. When the worker is paused, what
  /// runs is finished, and the work begins anew when it is resumed. Returns the last exit code.
  int run(const std::string& name, const std::stop_token& stop,
          const std::function<int(std::stop_token)>& work);

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::string> paused_;
  std::multimap<std::string, std::stop_source> running_;  // several may share a name
};

}  // namespace onceguard::cli::services
