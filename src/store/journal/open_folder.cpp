// Opens the folder of a journal: whether it can be one, and who owns it.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/number_in.hpp"
#include "store/journal/checkpoint.hpp"
#include "store/journal/posix_folder.hpp"
#include "store/journal/segment.hpp"
#include "store/local_disk.hpp"

namespace onceguard::journal {
namespace {

constexpr const char* owner_name = "owner";  // has the number of the process

error refuse(const std::string& path, const std::string& why) {
  return error(errc::invalid_argument, "journal store " + path + ": " + why);
}

/// Empty: it is not known.
std::string owner_of(int folder) {
  const base::descriptor file(::openat(folder, owner_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  char text[16];
  const auto size = file.is_open() ? ::read(file.get(), text, sizeof text) : -1;
  const std::string_view read(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto number = base::number_in<pid_t>(read.substr(0, read.find('\n')));
  return number ? std::to_string(*number) : std::string();
}

error occupied(const std::string& path, int folder) {
  const auto owner = owner_of(folder);
  return error(errc::store_unreachable,
               "journal store " + path + ": another process " +
                   (owner.empty() ? std::string() : "(" + owner + ") ") +
                   "has it open. A journal belongs to one process at a time: ask a gateway that "
                   "has it by its admin listener (--admin ADDRESS), stop that process, or take "
                   "sqlite:PATH, which the processes of a machine can share");
}

/// Others read in it whom to ask. It decides nothing: on a full disk it has no number.
void note_owner(int folder) {
  const base::descriptor file(::openat(folder, owner_name,
                                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                                       S_IRUSR | S_IWUSR));
  if (!file.is_open()) return;
  give_to_owner(file.get(), folder);
  const auto text = std::to_string(::getpid()) + "\n";
  static_cast<void>(::write(file.get(), text.data(), text.size()));
}

bool is_ours(const std::string& name) {
  return name == "." || name == ".." || name == "lost+found" || name == owner_name ||
         name == checkpoint_name || name == new_checkpoint_name || name == new_segment_name ||
         name == reserve_name;
}

/// Files of somebody else's, and no segment, are not the folder of a journal.
result<void> check_content(file_layer& opened) {
  auto names = opened.list();
  if (!names) return names.error();
  const auto is_segment = [](const std::string& name) { return segment_number(name).has_value(); };
  if (std::any_of(names->begin(), names->end(), is_segment)) return {};
  const auto foreign = std::find_if_not(names->begin(), names->end(), is_ours);
  if (foreign == names->end()) return {};
  return refuse(opened.location(), "has no journal in it, but \"" + *foreign +
                                       "\". Take an empty folder, or one that is not there yet");
}

result<base::descriptor> open_directory(const std::string& path) {
  if (const auto fault = path_fault(path); !fault.empty()) return refuse(path, fault);
  base::descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.is_open()) return opened;
  if (errno == ENOTDIR) return refuse(path, "is a file, and not the folder of a journal");
  return to_error(errno, path, "open the folder");
}

/// Opens the folder once more, to lock it: a forked process would keep the lock.
bool open_to_lock(base::unshared_descriptor& target, int folder) {
  return target.open(
      [folder] { return ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
}

result<std::unique_ptr<base::unshared_descriptor>> lock(const std::string& path, int folder) {
  // The folder itself, and no file in it: a file that is removed would let another process in.
  auto out = std::make_unique<base::unshared_descriptor>();
  if (open_to_lock(*out, folder) && ::flock(out->get(), LOCK_EX | LOCK_NB) == 0) return out;
  return errno == EWOULDBLOCK ? occupied(path, folder) : to_error(errno, path, "lock the folder");
}

}  // namespace

bool is_full_disk(int number) noexcept {
  return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

error to_error(int number, const std::string& location, std::string_view act, effect on_store) {
  return error(is_full_disk(number) ? errc::store_full : errc::store_unreachable,
               "journal store " + location + ": " + std::string(act) + ": " + std::strerror(number),
               on_store);
}

std::string path_fault(std::string_view path) {
  if (path.empty()) return "expected a folder after \"journal:\"";
  if (path.front() == '/') return {};
  return "expected the whole path of a folder, such as \"journal:/var/lib/onceguard/journal\": "
         "from another working directory a relative one would be another store";
}

result<std::unique_ptr<file_layer>> open_folder(const std::string& path) {
  if (const auto fault = path_fault(path); !fault.empty()) return refuse(path, fault);
  const bool made = ::mkdir(path.c_str(), S_IRWXU) == 0;
  if (!made && errno != EEXIST) return to_error(errno, path, "make the folder");
  auto opened = open_directory(path);
  if (!opened) return opened.error();
  if (const auto name = network_file_system_of(path); !name.empty()) {
    return refuse(path, "lies on a network file system (" + std::string(name) +
                            "), where a flush and a lock can't be trusted; use a local disk");
  }
  if (::faccessat(opened->get(), ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return to_error(errno, path, "this user may not write in the folder");
  }
  const int number = opened->get();
  auto locked = lock(path, number);
  if (!locked) return locked.error();
  auto out = std::make_unique<posix_folder>(path, std::move(*opened), folder_use::owner,
                                            std::move(*locked));
  if (auto checked = check_content(*out); !checked) return checked.error();
  note_owner(number);
  if (made) {
    // The folder's own name has to outlive a power cut as well.
    const base::descriptor above(::openat(number, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!above.is_open() || ::fsync(above.get()) != 0) return to_error(errno, path, "flush");
  }
  return std::unique_ptr<file_layer>(std::move(out));
}

result<std::unique_ptr<file_layer>> open_folder_to_read(const std::string& path) {
  auto opened = open_directory(path);
  if (!opened) return opened.error();
  return std::unique_ptr<file_layer>(
      std::make_unique<posix_folder>(path, std::move(*opened), folder_use::reader));
}

std::optional<std::string> find_owner(const std::string& path) {
  const base::descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  base::unshared_descriptor locked;
  if (!opened.is_open() || !open_to_lock(locked, opened.get()) ||
      ::flock(locked.get(), LOCK_SH | LOCK_NB) == 0) {
    return std::nullopt;
  }
  return owner_of(opened.get());
}

}  // namespace onceguard::journal
