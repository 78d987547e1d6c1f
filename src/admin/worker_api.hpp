// The workers of a process without a gateway: how they are, and acts on them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "admin/audit_api.hpp"
#include "admin/resource.hpp"
#include "admin/worker_resources.hpp"

namespace onceguard::admin {

/// Thread-safe. Must outlive the listener.
class worker_pauses {
 public:
  worker_pauses() = default;
  worker_pauses(const worker_pauses&) = delete;
  worker_pauses& operator=(const worker_pauses&) = delete;
  virtual ~worker_pauses() = default;

  [[nodiscard]] virtual bool paused(const std::string& name) const = 0;
  /// Does not wait until what runs is over.
  virtual void pause(const std::string& name) = 0;
  virtual void resume(const std::string& name) = 0;
};

struct worker_list {
  std::vector<std::string> names;
  std::function<worker_state()> read;
  worker_pauses& pauses;
  audit_source audit;
};

/// The worker that a request under /api/workers/{worker}/ is about: that of the parameter `worker`,
/// where there is one. In a path, a browser would take `.` and `..` for something else.
[[nodiscard]] std::string worker_of(const request& wanted);

/// GET /api/workers, and POST /api/workers/{worker}/pause and …/resume, with their reason in the
/// audit log.
[[nodiscard]] resources worker_act_resources(worker_list workers);

}  // namespace onceguard::admin
