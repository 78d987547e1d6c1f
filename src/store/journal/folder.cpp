// The folder of a journal on a disk: POSIX files, and the lock of the process that owns it.
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/descriptor.hpp"
#include "store/journal/file_layer.hpp"

namespace onceguard::journal {
namespace {

constexpr const char* lock_name = "lock";

class posix_file final : public file {
 public:
  explicit posix_file(base::descriptor opened) : opened_(std::move(opened)) {}

  [[nodiscard]] int number() const noexcept { return opened_.get(); }

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
  [[nodiscard]] int truncate(std::uint64_t size) override {
    return ::ftruncate(opened_.get(), static_cast<off_t>(size)) == 0 ? 0 : errno;
  }
  [[nodiscard]] int reserve(std::uint64_t size) override {
    return ::posix_fallocate(opened_.get(), 0, static_cast<off_t>(size));
  }
  [[nodiscard]] int size(std::uint64_t& out) const override {
    struct stat seen {};
    if (::fstat(opened_.get(), &seen) != 0) return errno;
    out = static_cast<std::uint64_t>(seen.st_size);
    return 0;
  }

 private:
  const base::descriptor opened_;
};

bool same(const struct stat& one, const struct stat& other) noexcept {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

class folder final : public file_layer {
 public:
  folder(std::string path, base::descriptor opened, base::descriptor lock)
      : path_(std::move(path)), opened_(std::move(opened)), lock_(std::move(lock)) {}

  [[nodiscard]] result<std::unique_ptr<file>> open(const std::string& name,
                                                   open_file mode) override {
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    const int more = mode == open_file::created ? O_CREAT | O_TRUNC : 0;
    // Answers may be confidential.
    base::descriptor file(::openat(opened_.get(), name.c_str(), flags | more, S_IRUSR | S_IWUSR));
    if (!file.is_open()) return to_error(errno, path_ + "/" + name, "open");
    return std::unique_ptr<journal::file>(std::make_unique<posix_file>(std::move(file)));
  }
  [[nodiscard]] result<std::vector<std::string>> list() override {
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
  [[nodiscard]] result<void> rename(const std::string& former, const std::string& target) override {
    if (::renameat(opened_.get(), former.c_str(), opened_.get(), target.c_str()) == 0) return {};
    return to_error(errno, path_ + "/" + former, "rename");
  }
  [[nodiscard]] result<void> remove(const std::string& name) override {
    if (::unlinkat(opened_.get(), name.c_str(), 0) == 0) return {};
    return to_error(errno, path_ + "/" + name, "remove");
  }
  [[nodiscard]] result<void> flush_names() override {
    if (::fsync(opened_.get()) == 0) return {};
    return to_error(errno, path_, "flush");
  }
  [[nodiscard]] bool still_there(const std::string& name, const file& opened) const override {
    struct stat by_name {};
    struct stat by_file {};
    return ::stat((path_ + "/" + name).c_str(), &by_name) == 0 &&
           ::fstat(static_cast<const posix_file&>(opened).number(), &by_file) == 0 &&
           same(by_name, by_file);
  }
  [[nodiscard]] const std::string& location() const noexcept override { return path_; }

 private:
  const std::string path_;
  const base::descriptor opened_;
  const base::descriptor lock_;
};

error occupied(const std::string& path) {
  return error(errc::store_unreachable,
               "journal store " + path +
                   ": another process has it open. A journal belongs to one process at a time: "
                   "ask that one by its admin API, stop it, or take sqlite:PATH, which the "
                   "processes of a machine can share");
}

}  // namespace

error to_error(int number, const std::string& location, std::string_view act, effect on_store) {
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return error(full ? errc::store_full : errc::store_unreachable,
               "journal store " + location + ": " + std::string(act) + ": " + std::strerror(number),
               on_store);
}

result<std::unique_ptr<file_layer>> open_folder(const std::string& path) {
  const bool made = ::mkdir(path.c_str(), S_IRWXU) == 0;
  if (!made && errno != EEXIST) return to_error(errno, path, "make the folder");
  base::descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open()) {
    if (errno == ENOTDIR) {
      return error(errc::invalid_argument,
                   "journal store " + path + ": is a file, and not the folder of a journal");
    }
    return to_error(errno, path, "open the folder");
  }
  base::descriptor lock(
      ::openat(opened.get(), lock_name, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!lock.is_open()) return to_error(errno, path + "/" + lock_name, "open");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? occupied(path) : to_error(errno, path, "lock the folder");
  }
  if (made) {
    // The folder's own name has to outlive a power cut as well.
    base::descriptor above(::openat(opened.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!above.is_open() || ::fsync(above.get()) != 0) return to_error(errno, path, "flush");
  }
  return std::unique_ptr<file_layer>(
      std::make_unique<folder>(path, std::move(opened), std::move(lock)));
}

}  // namespace onceguard::journal
