// The C library has no functions for Landlock, and Debian 12's header ends with its version 2.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "sandbox/in_force.hpp"
#include "sandbox/sandbox.hpp"

namespace onceguard::sandbox {
namespace {

constexpr std::uint64_t truncate = 1ULL << 14;  // LANDLOCK_ACCESS_FS_TRUNCATE, since version 3
constexpr std::uint64_t in_files = LANDLOCK_ACCESS_FS_WRITE_FILE | truncate;
constexpr std::uint64_t in_folders =
    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;
constexpr std::uint64_t nowhere =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

error failed(const std::string& call) {
  return error(errc::conflict, call + ": " + std::strerror(errno));
}

/// The rights that a version knows, of all that are limited.
std::uint64_t rights_of(int version) {
  auto out = in_files | in_folders | nowhere;
  if (version < 2) out &= ~LANDLOCK_ACCESS_FS_REFER;
  if (version < 3) out &= ~truncate;
  return out;
}

result<void> allow_writing(int ruleset, const std::string& path, std::uint64_t rights) {
  const base::descriptor opened(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (opened.get() < 0 || ::fstat(opened.get(), &status) != 0) return failed(path);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights & (S_ISDIR(status.st_mode) ? in_files | in_folders : in_files);
  rule.parent_fd = opened.get();
  const auto added =
      ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  // EBADFD: a pipe, or the like. It has no place in the tree of files, and no limit.
  if (added != 0 && errno != EBADFD) return failed(path);
  return {};
}

}  // namespace

result<int> landlock_version() {
  const auto version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version <= 0) return failed("landlock_create_ruleset");
  return static_cast<int>(version);
}

result<void> limit_files(const std::vector<std::string>& writable) {
  const auto version = landlock_version();
  if (!version) return version.error();
  landlock_ruleset_attr limited{};
  limited.handled_access_fs = rights_of(*version);
  const base::descriptor ruleset(static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &limited, sizeof limited.handled_access_fs, 0)));
  if (!ruleset.is_open()) return failed("landlock_create_ruleset");
  for (const auto& path : writable) {
    const auto allowed = allow_writing(ruleset.get(), path, limited.handled_access_fs);
    if (!allowed) return allowed;
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("PR_SET_NO_NEW_PRIVS");
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return failed("landlock_restrict_self");
  }
  files_limited = true;
  return {};
}

limits in_force() noexcept { return {files_limited, calls_limited}; }

}  // namespace onceguard::sandbox
