#include "base/unshared_descriptor.hpp"

#include <cstdint>
#include <mutex>
#include <pthread.h>
#include <unistd.h>
#include <vector>

#include "base/descriptor.hpp"

namespace onceguard::base {

/// Closes them in each process that is forked.
class unshared_descriptors {
 public:
  static void add(unshared_descriptor& added) {
    static const int watched = ::pthread_atfork(begin, unlock, close_all);
    static_cast<void>(watched);
    const std::lock_guard locked(mutex());
    all().push_back(&added);
  }
  static void remove(unshared_descriptor& removed) noexcept {
    const std::lock_guard locked(mutex());
    std::erase(all(), &removed);
    if (removed.number_ >= 0) ::close(removed.number_);
  }
  /// How many processes were forked. While one is being forked, this waits.
  static std::uint64_t forks() {
    const std::lock_guard locked(mutex());
    return forks_;
  }
  /// False: a process was forked since then, and has inherited what was opened meanwhile.
  static bool take(unshared_descriptor& target, descriptor& opened, std::uint64_t before) {
    const std::lock_guard locked(mutex());
    if (forks_ != before) return false;
    if (target.number_ >= 0) ::close(target.number_);
    target.number_ = opened.release();
    return true;
  }

 private:
  /// While somebody has it, no process is forked: never held while a file system works on a name.
  static std::mutex& mutex() {
    static auto& out = *new std::mutex;  // never destroyed, as a process may fork at any time
    return out;
  }
  static std::vector<unshared_descriptor*>& all() {
    static auto& out = *new std::vector<unshared_descriptor*>;
    return out;
  }
  static void begin() {
    mutex().lock();
    ++forks_;
  }
  static void unlock() { mutex().unlock(); }
  /// POSIX, fork(): of a process with threads, only what is async-signal-safe.
  static void close_all() {
    for (auto* const each : all()) {
      if (each->number_ >= 0) ::close(each->number_);
      each->number_ = -1;
    }
    unlock();
  }

  static inline std::uint64_t forks_ = 0;
};

unshared_descriptor::unshared_descriptor() { unshared_descriptors::add(*this); }

unshared_descriptor::~unshared_descriptor() { unshared_descriptors::remove(*this); }

bool unshared_descriptor::open(const std::function<int()>& opens) {
  for (;;) {
    const auto before = unshared_descriptors::forks();
    descriptor opened(opens());
    if (!opened.is_open()) return false;
    if (unshared_descriptors::take(*this, opened, before)) return true;
  }
}

}  // namespace onceguard::base
