#include "store/sqlite/location.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/resolved_path.hpp"

namespace onceguard::sqlite {
error refuse(const std::string& path, std::string_view why) {
  return error(errc::invalid_argument, "sqlite store " + path + ": " + std::string(why));
}

error out_of_reach(const std::string& path, std::string_view why) {
  return error(errc::store_unreachable, "sqlite store " + path + ": " + std::string(why));
}

result<std::string> check_location(const std::string& path) {
  if (path.empty()) return refuse(path, "the path is empty; write sqlite:PATH");
  if (path == ":memory:") return refuse(path, "for a store in memory write memory:");
  if (path.find('\0') != std::string::npos) return refuse("", "the path has a NUL byte in it");
  std::error_code failed;
  const auto whole = base::resolved_path(path, failed);
  if (failed) return out_of_reach(path, failed.message());
  struct stat about {};
  if (::stat(whole.c_str(), &about) == 0) {
    if (S_ISDIR(about.st_mode)) return refuse(path, "is a directory, not a file");
    if (!S_ISREG(about.st_mode)) return refuse(path, "is not a regular file");
    if (::access(whole.c_str(), R_OK | W_OK) != 0) return out_of_reach(path, "is not writable");
  } else if (errno != ENOENT) {
    return out_of_reach(path, std::strerror(errno));
  }
  const auto folder = whole.parent_path();
  if (::stat(folder.c_str(), &about) != 0) {
    return out_of_reach(path, "the directory " + folder.string() + ": " + std::strerror(errno));
  }
  if (!S_ISDIR(about.st_mode)) return refuse(path, folder.string() + " is not a directory");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return out_of_reach(path, "the directory " + folder.string() +
                                  " is not writable (the log is kept beside the file)");
  }
  if (const auto name = network_file_system_of(folder.string()); !name.empty()) {
    return refuse(path, "lies on a network file system (" + std::string(name) +
                            "), where SQLite's locks can't be trusted; use a local disk");
  }
  return whole.string();
}

file_mark mark_of(const std::string& path) noexcept {
  // Not stat, which also reads the timestamps: once a process has read them, Linux gives the next
  // change a timestamp of its own, and each batch would have to write the inode of the write-ahead
  // log to the disk as well.
  struct statx about {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO, &about) != 0) return {};
  return {makedev(about.stx_dev_major, about.stx_dev_minor), about.stx_ino};
}

std::string second_name_of(const std::string& path) {
  struct statx about {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_NLINK, &about) != 0) return {};
  if ((about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
    return "is mounted as a single file (a bind mount), so that its log would not be where other "
           "processes look for it. Mount its directory instead";
  }
  if ((about.stx_mask & STATX_NLINK) != 0 && about.stx_nlink > 1) {
    return "has more than one name (hard links), and each name would have a log of its own. Remove "
           "the other names (`find DIRECTORY -samefile " +
           path +
           "` shows them; a `restore` that was killed leaves one, and can be repeated); a copy is "
           "made by `onceguard backup`";
  }
  return {};
}

bool absence::is_final(const std::string& path) {
  if (mark_of(path) != file_mark{}) {
    since_.reset();
    return false;
  }
  if (!since_) since_ = base::boot_now();
  return base::boot_now() - *since_ >= grace_;
}

std::int64_t size_of(const std::string& path) noexcept {
  struct statx about {};  // not stat: see mark_of
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_SIZE, &about) != 0) return 0;
  return static_cast<std::int64_t>(about.stx_size);
}

}  // namespace onceguard::sqlite
