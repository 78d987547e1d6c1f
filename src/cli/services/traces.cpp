#include "cli/services/traces.hpp"

#include <cstdlib>

#include <onceguard/version.hpp>

#include "base/log.hpp"

namespace onceguard::cli::services {

traces::traces(const trace::trace_settings& settings)
    : queue(settings.queue_max, settings.batch_max),
      tracer(settings.sampler, queue),
      exporter(settings, queue, std::string(version)) {}

std::unique_ptr<traces> make_traces() {
  const auto setup = trace::read_setup([](std::string_view name) {
    const char* value = std::getenv(std::string(name).c_str());
    return std::string(value == nullptr ? "" : value);
  });
  for (const auto& fault : setup.faults) {
    base::log(base::event::trace_variable_ignored, {{"remark", fault}});
  }
  return setup.settings ? std::make_unique<traces>(*setup.settings) : nullptr;
}

}  // namespace onceguard::cli::services
