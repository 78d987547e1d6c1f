#include "base/log.hpp"

#include <atomic>

namespace onceguard::base {
namespace {
std::atomic<log_sink*> current{nullptr};
}

void set_log_sink(log_sink* sink) noexcept { current = sink; }

void log(log_level level, std::string_view event, std::initializer_list<log_field> fields) {
  if (auto* sink = current.load(std::memory_order_acquire)) sink->write(level, event, fields);
}

void log_recurring(log_level level, std::string_view event,
                   std::initializer_list<log_field> fields) {
  auto* sink = current.load(std::memory_order_acquire);
  if (sink != nullptr) sink->write_recurring(level, event, fields);
}

}  // namespace onceguard::base
