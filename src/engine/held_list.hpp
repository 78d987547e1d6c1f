// The leases that are held now, for those who have to end them at shutdown.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/engine.hpp"
#include "engine/held_lease.hpp"

namespace onceguard {

/// Thread-safe.
struct engine::held_list {
 public:
  class entry {
   public:
    entry(held_list& list, const std::shared_ptr<held_lease>& held) : in_(list) {
      const std::lock_guard lock(in_.mutex_);
      at_ = in_.held_.insert(in_.held_.end(), held);
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() {
      const std::lock_guard lock(in_.mutex_);
      in_.held_.erase(at_);
    }

   private:
    held_list& in_;
    std::list<std::shared_ptr<held_lease>>::iterator at_;
  };

  [[nodiscard]] std::vector<std::shared_ptr<held_lease>> all() const {
    const std::lock_guard lock(mutex_);
    return {held_.begin(), held_.end()};
  }

 private:
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<held_lease>> held_;
};

}  // namespace onceguard
