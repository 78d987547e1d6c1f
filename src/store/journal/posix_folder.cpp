#include "store/journal/posix_folder.hpp"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

namespace onceguard::journal {
namespace {

bool is_on_overwriting_volume(int opened) noexcept {
  struct statfs volume {};
  if (::fstatfs(opened, &volume) != 0) return false;
  return volume.f_type == EXT4_SUPER_MAGIC || volume.f_type == XFS_SUPER_MAGIC;
}

/// Containers that do not know a call answer as if it were forbidden.
bool is_no_such_call(int number) noexcept {
  return number == EOPNOTSUPP || number == ENOSYS || number == EPERM || number == EINVAL;
}

class posix_file final : public file {
 public:
  /// `seen`: of the file as it is. What tells it from all others never changes.
  posix_file(base::descriptor opened, const struct stat& seen)
      : opened_(std::move(opened)),
        device_(seen.st_dev),
        inode_(seen.st_ino),
        overwrites_(is_on_overwriting_volume(opened_.get())) {}

  [[nodiscard]] bool is(const struct stat& other) const noexcept {
    return other.st_dev == device_ && other.st_ino == inode_;
  }

  [[nodiscard]] int write(std::string_view bytes, std::uint64_t offset) override {
    while (!bytes.empty()) {
      const auto done =
          ::pwrite(opened_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return done < 0 ? errno : EIO;
      bytes.remove_prefix(static_cast<std::size_t>(done));
      offset += static_cast<std::uint64_t>(done);
    }
    return 0;
  }
  [[nodiscard]] int read(char* target, std::size_t size, std::uint64_t offset,
                         std::size_t& got) const override {
    got = 0;
    while (got < size) {
      const auto done =
          ::pread(opened_.get(), target + got, size - got, static_cast<off_t>(offset + got));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return errno;
      if (done == 0) break;
      got += static_cast<std::size_t>(done);
    }
    return 0;
  }
  [[nodiscard]] int flush() override { return ::fdatasync(opened_.get()) == 0 ? 0 : errno; }
  /// In one system call, where that is known to flush: ZFS took the flag once, and ignored it.
  [[nodiscard]] int write_through(std::string_view bytes, std::uint64_t offset) override {
    if (!overwrites_) return write_and_flush(bytes, offset);
    while (!bytes.empty()) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): of a call that reads and writes
      const iovec part{const_cast<char*>(bytes.data()), bytes.size()};
      const auto done = ::pwritev2(opened_.get(), &part, 1, static_cast<off_t>(offset), RWF_DSYNC);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0 && is_no_such_call(errno)) return write_and_flush(bytes, offset);
      if (done <= 0) return done < 0 ? errno : EIO;
      bytes.remove_prefix(static_cast<std::size_t>(done));
      offset += static_cast<std::uint64_t>(done);
    }
    return 0;
  }
  [[nodiscard]] bool overwrites_blocks() const override { return overwrites_; }
  [[nodiscard]] int truncate(std::uint64_t size) override {
    return ::ftruncate(opened_.get(), static_cast<off_t>(size)) == 0 ? 0 : errno;
  }
  [[nodiscard]] int reserve(std::uint64_t size) override {
    int failed = 0;
    do failed = ::posix_fallocate(opened_.get(), 0, static_cast<off_t>(size));
    while (failed == EINTR);  // a reload's signal is no full disk
    return failed;
  }
  [[nodiscard]] int size(std::uint64_t& out) const override {
    struct stat seen {};
    if (::fstat(opened_.get(), &seen) != 0) return errno;
    out = static_cast<std::uint64_t>(seen.st_size);
    return 0;
  }
  [[nodiscard]] std::uint64_t written_end() const override {
    off_t end = 0;
    for (;;) {
      const auto data = ::lseek(opened_.get(), end, SEEK_DATA);
      if (data < 0) return errno == ENXIO ? static_cast<std::uint64_t>(end) : file::written_end();
      end = ::lseek(opened_.get(), data, SEEK_HOLE);
      if (end < 0) return file::written_end();
    }
  }

 private:
  [[nodiscard]] int write_and_flush(std::string_view bytes, std::uint64_t offset) {
    const int failed = write(bytes, offset);
    return failed != 0 ? failed : flush();
  }

  const base::descriptor opened_;
  const dev_t device_;
  const ino_t inode_;
  const bool overwrites_;
};

}  // namespace

void give_to_owner(int file, int folder) noexcept {
  struct stat about {};
  if (::geteuid() != 0 || ::fstat(folder, &about) != 0) return;
  static_cast<void>(::fchown(file, about.st_uid, about.st_gid) == 0);
}

result<std::unique_ptr<file>> posix_folder::open(const std::string& name, open_file mode) {
  const int access = use_ == folder_use::reader ? O_RDONLY : O_RDWR;
  const int more = mode == open_file::created ? O_CREAT | O_TRUNC : 0;
  // Answers may be confidential.
  base::descriptor opened(::openat(opened_.get(), name.c_str(),
                                   access | more | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!opened.is_open()) return to_error(errno, path_ + "/" + name, "open");
  if (mode == open_file::created) give_to_owner(opened.get(), opened_.get());
  struct stat seen {};
  if (::fstat(opened.get(), &seen) != 0) return to_error(errno, path_ + "/" + name, "look at it");
  return std::unique_ptr<file>(std::make_unique<posix_file>(std::move(opened), seen));
}

result<std::vector<std::string>> posix_folder::list() {
  const int copy = ::openat(opened_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const names = copy < 0 ? nullptr : ::fdopendir(copy);
  if (names == nullptr) {
    const auto why = errno;
    if (copy >= 0) ::close(copy);
    return to_error(why, path_, "list");
  }
  std::vector<std::string> out;
  errno = 0;
  while (const auto* each = ::readdir(names)) out.emplace_back(each->d_name);
  const auto why = errno;
  ::closedir(names);
  if (why != 0) return to_error(why, path_, "list");
  return out;
}

result<void> posix_folder::rename(const std::string& former, const std::string& target) {
  if (::renameat(opened_.get(), former.c_str(), opened_.get(), target.c_str()) == 0) return {};
  return to_error(errno, path_ + "/" + former, "rename");
}

result<void> posix_folder::remove(const std::string& name) {
  if (::unlinkat(opened_.get(), name.c_str(), 0) == 0) return {};
  return to_error(errno, path_ + "/" + name, "remove");
}

result<void> posix_folder::flush_names() {
  if (::fsync(opened_.get()) == 0) return {};
  return to_error(errno, path_, "flush");
}

result<bool> posix_folder::still_there(const std::string& name, const file& opened) const {
  struct stat by_name {};
  const auto path = path_ + "/" + name;
  if (::stat(path.c_str(), &by_name) != 0) {
    // Any other error says nothing of what is there, and passes.
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return to_error(errno, path, "look for it");
  }
  return static_cast<const posix_file&>(opened).is(by_name);
}

}  // namespace onceguard::journal
