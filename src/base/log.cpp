#include "base/log.hpp"

#include <atomic>

namespace onceguard::base {
namespace {
std::atomic<log_sink*> current{nullptr};
}

void set_log_sink(log_sink* sink) noexcept { current = sink; }

void log(event id, std::initializer_list<log_field> fields) { log(id, info_of(id).level, fields); }

void log(event id, log_level level, std::initializer_list<log_field> fields) {
  if (auto* sink = current.load(std::memory_order_acquire)) {
    sink->write(info_of(id), level, {fields.begin(), fields.size()});
  }
}

bool log_surely(event id, std::initializer_list<log_field> fields) {
  auto* sink = current.load(std::memory_order_acquire);
  return sink == nullptr ||
         sink->write_surely(info_of(id), info_of(id).level, {fields.begin(), fields.size()});
}

void log_fields(event id, std::span<const log_field> fields) {
  if (auto* sink = current.load(std::memory_order_acquire)) {
    sink->write(info_of(id), info_of(id).level, fields);
  }
}

}  // namespace onceguard::base
