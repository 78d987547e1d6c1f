#include "admin/process_metrics.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

#include "admin/metric_families.hpp"
#include "base/clock.hpp"

namespace onceguard::admin {

namespace {

using prometheus::MetricFamily;

/// The fields of /proc/self/stat behind the name, as proc(5) numbers them from 3 on.
class stat_fields {
 public:
  stat_fields() {
    std::ifstream input("/proc/self/stat");
    const std::string text{std::istreambuf_iterator<char>(input), {}};
    const auto name_end = text.rfind(')');
    if (name_end == text.npos) return;
    std::istringstream rest(text.substr(name_end + 1));
    for (std::string field; rest >> field;) fields_.push_back(std::move(field));
  }
  [[nodiscard]] std::optional<double> at(std::size_t number) const {
    if (number < 3 || number - 3 >= fields_.size()) return std::nullopt;
    return std::stod(fields_[number - 3]);
  }

 private:
  std::vector<std::string> fields_;
};

void add(std::vector<MetricFamily>& out, MetricFamily family, std::optional<double> value) {
  if (!value) return;
  add_value(family, *value);
  out.push_back(std::move(family));
}

std::optional<double> seconds(std::optional<double> ticks) {
  if (!ticks) return std::nullopt;
  return *ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// In seconds since 1970: the kernel counts from the boot.
std::optional<double> start_time(const stat_fields& fields) {
  const auto since_boot = seconds(fields.at(22));
  if (!since_boot) return std::nullopt;
  const auto& clock = base::system_clock();
  return static_cast<double>(clock.wall_ms() - clock.boot_ms()) / 1e3 + *since_boot;
}

std::optional<double> open_descriptors() {
  std::error_code failed;
  const std::filesystem::directory_iterator folder("/proc/self/fd", failed);
  if (failed) return std::nullopt;
  const auto count = std::distance(begin(folder), end(folder));
  return static_cast<double>(count - 1);  // without that of the folder itself
}

std::optional<double> descriptors_max() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

std::vector<MetricFamily> process_families() {
  const stat_fields fields;
  std::vector<MetricFamily> out;
  auto cpu = fields.at(14);
  if (cpu) *cpu += fields.at(15).value_or(0);
  add(out, counter_family("process_cpu_seconds_total", "CPU time in user and system mode."),
      seconds(cpu));
  auto resident = fields.at(24);
  if (resident) *resident *= static_cast<double>(::sysconf(_SC_PAGESIZE));
  add(out, gauge_family("process_resident_memory_bytes", "Memory that is resident."), resident);
  add(out, gauge_family("process_virtual_memory_bytes", "Address space."), fields.at(23));
  add(out, gauge_family("process_threads", "Threads."), fields.at(20));
  add(out, gauge_family("process_start_time_seconds", "When it began, since 1970."),
      start_time(fields));
  add(out, gauge_family("process_open_fds", "Open file descriptors."), open_descriptors());
  add(out, gauge_family("process_max_fds", "File descriptors that it may open."),
      descriptors_max());
  return out;
}

}  // namespace onceguard::admin
