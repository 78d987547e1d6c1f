#include "store/sqlite/lock_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/hash.hpp"
#include "store/sqlite/connection.hpp"

namespace onceguard::sqlite {
namespace {

// The meaning of the bytes. Each process that has the store open locks the byte of its boot id.
constexpr std::int64_t move_byte = 0;
constexpr std::int64_t users_from = std::int64_t{1} << 20;
constexpr std::int64_t users_to = users_from + (std::int64_t{1} << 40);
// Each session that knows its log to be durable locks the byte of that log's index.
constexpr std::int64_t durable_from = std::int64_t{1} << 62;

[[noreturn]] void give_up(const std::string& path) {
  const auto why = errno;
  throw failure(why == ENOSPC ? SQLITE_FULL : SQLITE_CANTOPEN, path + ": " + std::strerror(why));
}

std::int64_t byte_of_boot(std::string_view boot_id) {
  const auto sum = base::sha256_of(boot_id);
  std::int64_t out = 0;
  for (std::size_t i = 0; i < 5; ++i) out = out * 256 + sum[i];
  return users_from + out;
}

std::int64_t byte_of_index(std::uint64_t index) {
  return durable_from + static_cast<std::int64_t>(index % durable_from);
}

struct flock range(short kind, std::int64_t first, std::int64_t length) {
  struct flock out {};
  out.l_type = kind;
  out.l_whence = SEEK_SET;
  out.l_start = first;
  out.l_len = length;
  return out;
}

}  // namespace

void wait_one_step() { std::this_thread::sleep_for(lock_step); }

lock_file::lock_file(const std::string& database) : database_(database), path_(database + "-lock") {
  open();
}

void lock_file::open() {
  if (!file_.open([this] { return open_or_make(); })) give_up(path_);
  mark_ = mark_of(path_);
}

int lock_file::open_or_make() const {
  struct stat about {};
  const bool there = ::stat(database_.c_str(), &about) == 0;
  const mode_t mode = there ? about.st_mode & 0666 : S_IRUSR | S_IWUSR;
  base::descriptor made(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!made.is_open()) return errno == EEXIST ? ::open(path_.c_str(), O_RDWR | O_CLOEXEC) : -1;
  // A lock file made by root, or under a narrow umask, must not lock the database's users out.
  if (::fchmod(made.get(), mode) != 0 ||
      (there && ::geteuid() == 0 && ::fchown(made.get(), about.st_uid, about.st_gid) != 0)) {
    give_up(path_);
  }
  return made.release();
}

/// Reopens a lock file that was deleted or replaced: locks on a file without a name keep nobody
/// out.
void lock_file::reopen_if_replaced() {
  if (mark_of(path_) == mark_) return;
  open();
  if (byte_ != 0 && !lock(F_RDLCK, byte_, 1)) {
    mark_ = {};  // to be tried again: without its byte nothing goes on
    throw failure(SQLITE_BUSY, path_ + ": another process has the store for itself");
  }
}

bool lock_file::lock(short kind, std::int64_t first, std::int64_t length) const {
  // Locks of the open file: with classic record locks two sessions of one process would not see
  // each other, and closing any descriptor of the file would drop them all (fcntl(2)).
  auto lock = range(kind, first, length);
  if (::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) return true;
  // POSIX, fcntl(): another's lock is either of the two.
  if (errno != EAGAIN && errno != EACCES) give_up(path_);
  return false;
}

bool lock_file::others_hold(std::int64_t first, std::int64_t end) const {
  if (first == end) return false;
  auto lock = range(F_WRLCK, first, end - first);
  if (::fcntl(file_.get(), F_OFD_GETLK, &lock) != 0) give_up(path_);
  return lock.l_type != F_UNLCK;
}

lock_file::entry lock_file::enter(std::string_view boot_id) {
  reopen_if_replaced();
  const auto byte = byte_of_boot(boot_id);
  if (!lock(F_RDLCK, byte, 1)) return entry::closed_to_all;
  // Registered before the check: of two processes that come at once, at least one sees the other.
  if (others_hold(users_from, byte) || others_hold(byte + 1, users_to)) {
    static_cast<void>(lock(F_UNLCK, byte, 1));
    return entry::another_boot;
  }
  byte_ = byte;
  return entry::entered;
}

bool lock_file::keep_all_out() {
  reopen_if_replaced();
  return lock(F_WRLCK, users_from, users_to - users_from);
}

bool lock_file::try_turn() {
  reopen_if_replaced();
  return lock(F_WRLCK, move_byte, 1);
}

bool lock_file::is_declared_durable(std::uint64_t index) const {
  const auto byte = byte_of_index(index);
  return others_hold(byte, byte + 1);
}

void lock_file::declare_durable(std::uint64_t index) {
  durable_ = byte_of_index(index);
  static_cast<void>(lock(F_RDLCK, durable_, 1));  // nobody locks it against others
}

void lock_file::withdraw() noexcept {
  if (durable_ == 0) return;
  auto lock = range(F_UNLCK, durable_, 1);
  ::fcntl(file_.get(), F_OFD_SETLK, &lock);
  durable_ = 0;
}

void lock_file::keep_reserve(std::int64_t bytes) noexcept {
  struct stat about {};
  if (::fstat(file_.get(), &about) != 0 || about.st_size >= bytes) return;
  // Not every file system can reserve room. Then there is no reserve.
  static_cast<void>(::fallocate(file_.get(), 0, 0, bytes));
}

bool lock_file::give_up_reserve() noexcept {
  struct stat about {};
  return ::fstat(file_.get(), &about) == 0 && about.st_size > 0 && ::ftruncate(file_.get(), 0) == 0;
}

void lock_file::end_turn() noexcept {
  auto lock = range(F_UNLCK, move_byte, 1);
  ::fcntl(file_.get(), F_OFD_SETLK, &lock);
}

}  // namespace onceguard::sqlite
