#include "cli/services/shut_in.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/resolved_path.hpp"
#include "config/stores.hpp"
#include "sandbox/sandbox.hpp"

namespace onceguard::cli::services {
namespace {

namespace fs = std::filesystem;

#ifdef ONCEGUARD_SANITIZED
constexpr std::string_view why_never = "a sanitizer traces the process, and runs its symbolizer";
#else
constexpr std::string_view why_never;
#endif

/// The folder in which a file is made, rotated and removed, or the file itself if it is a device or
/// a pipe without a name; of what is not there yet, the nearest folder in which it would be made.
std::string writable_path(const std::string& path) {
  std::error_code failed;
  // SQLite keeps its write-ahead log beside the file, and not beside a link to it.
  auto found = base::resolved_path(path, failed);
  if (failed) return path;  // /dev/stdout, where that is a pipe
  const auto type = fs::status(found, failed).type();
  if (type == fs::file_type::character || type == fs::file_type::directory) return found;
  if (fs::exists(found, failed)) return found.parent_path();
  while (!fs::exists(found, failed) && found.has_relative_path()) found = found.parent_path();
  return found;
}

std::vector<std::string> writable_paths(const config::settings& settings) {
  std::vector<std::string> paths{settings.gateway.state_dir, settings.gateway.audit_log,
                                 settings.log.file, settings.admin.address.socket_path,
                                 settings.serve.listen.socket_path};
  const auto* kind = config::known_stores().kind_of(settings.store.url);
  if (kind != nullptr && kind->file_of != nullptr)
    paths.push_back(kind->file_of(settings.store.url));
  std::error_code failed;
  // SQLite's temporary files are in the first of these that there is.
  for (const fs::path& each : {fs::temp_directory_path(failed), fs::path("/var/tmp")}) {
    if (fs::is_directory(each, failed)) paths.push_back(each);
  }
  paths.emplace_back("/dev/null");
  std::vector<std::string> out;
  for (const auto& path : paths) {
    if (!path.empty()) out.push_back(writable_path(path));
  }
  return out;
}

}  // namespace

left_open shut_in(const config::settings& settings, std::string_view why_not) {
  left_open out;
  if (!settings.sandbox) return out;
  if (why_not.empty()) why_not = why_never;
  if (!why_not.empty()) return {{"files", std::string(why_not)}, {"calls", std::string(why_not)}};
  const auto paths = writable_paths(settings);
  if (std::ranges::find(paths, "/") != paths.end()) {
    out.emplace_back("files", "a folder that is written is not there, and would be made in /");
  } else if (const auto files = sandbox::limit_files(paths); !files) {
    out.emplace_back("files", files.error().detail);
  }
  if (const auto calls = sandbox::limit_calls(); !calls) {
    out.emplace_back("calls", calls.error().detail);
  }
  return out;
}

bool is_shut_in() noexcept {
  const auto now = sandbox::in_force();
  return now.files || now.calls;
}

void log_shut_in(const left_open& parts) {
  const auto now = sandbox::in_force();
  for (const auto& [part, why] : parts) {
    base::log(base::event::not_shut_in, {{"part", part}, {"why", std::string_view(why)}});
  }
  if (is_shut_in()) {
    base::log(base::event::shut_in, {{"files", now.files}, {"calls", now.calls}});
  }
}

void add_limits(admin::worker_state& out) {
  const auto now = sandbox::in_force();
  constexpr std::string_view meaning = admin::meaning_of_sandbox;
  out.add("onceguard_sandbox", meaning, now.files, {{"part", "files"}});
  out.add("onceguard_sandbox", meaning, now.calls, {{"part", "calls"}});
}

}  // namespace onceguard::cli::services
