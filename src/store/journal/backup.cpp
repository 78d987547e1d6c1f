#include "store/journal/backup.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "base/resolved_path.hpp"
#include "store/journal/checkpoint.hpp"
#include "store/journal/posix_folder.hpp"
#include "store/journal/recovery.hpp"
#include "store/journal/window.hpp"

namespace onceguard::journal {
namespace {

constexpr std::size_t copied_at_once = std::size_t{1} << 20;

error from_system(const std::string& path) {
  return error(errc::store_unreachable, path + ": " + std::strerror(errno));
}

bool flush_folder(const std::string& path) {
  const base::descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.is_open() && ::fsync(opened.get()) == 0;
}

std::string folder_above(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

/// A folder of another name, until it is whole. What is left of it is removed with the object.
class part_folder {
 public:
  explicit part_folder(std::string path) : path_(std::move(path)) {}
  ~part_folder() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  part_folder(const part_folder&) = delete;
  part_folder& operator=(const part_folder&) = delete;

  [[nodiscard]] result<void> make() {
    made_ = ::mkdir(path_.c_str(), S_IRWXU) == 0;
    if (made_) return {};
    if (errno != EEXIST) return from_system(path_);
    return error(errc::conflict, path_ +
                                     ": another process writes it, or one was killed while it "
                                     "did: then remove it");
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(std::uint32_t segment) const {
    return path_ + "/" + segment_name(segment);
  }
  /// It has got its name.
  void keep() noexcept { made_ = false; }

 private:
  const std::string path_;
  bool made_ = false;
};

/// Reads on from `end` to the end of the last whole group. Returns the last one's number, or
/// `before`.
std::uint64_t pass_groups(window& seen, std::uint64_t seed, std::uint64_t& end,
                          std::uint64_t before) {
  auto offset = end;
  bool whole = true;
  for (;;) {
    const auto bytes = seen.at(offset, frame_header_size);
    const auto header = bytes.size() < frame_header_size ? std::nullopt : read_header(bytes, seed);
    if (!header) return before;
    const auto body = seen.at(offset + frame_header_size, header->body_size);
    whole = whole && body_fits(*header, seed, body);
    offset += header->whole_size();
    if (header->kind != frame_kind::commit) continue;
    // One that is damaged, and not just being written, is known by the groups behind it.
    if (whole) end = offset;
    if (whole) before = header->group;
    whole = true;
  }
}

/// 0, or the errno.
int copy(const file& source, std::uint64_t offset, std::uint64_t end, file& target) {
  std::string bytes(copied_at_once, '\0');
  while (offset < end) {
    std::size_t got = 0;
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(copied_at_once, end - offset));
    if (const int failed = source.read(bytes.data(), size, offset, got); failed != 0) return failed;
    if (got == 0) return EIO;
    const int failed = target.write(std::string_view(bytes).substr(0, got), offset);
    if (failed != 0) return failed;
    offset += got;
  }
  return 0;
}

enum class part_of_segment : std::uint8_t { whole_file, whole_groups };

/// With another identity, if it is not empty. errc::not_found: the segment is gone.
result<void> copy_segment(const std::string& folder, std::uint32_t number,
                          const std::string& target, part_of_segment part,
                          const std::string& identity) {
  posix_folder source(folder,
                      base::descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                      folder_use::reader);
  auto read = source.open(segment_name(number), open_file::existing);
  if (!read) {
    return ::access((folder + "/" + segment_name(number)).c_str(), F_OK) == 0
               ? read.error()
               : error(errc::not_found, read.error().detail);
  }
  posix_folder copies(target,
                      base::descriptor(::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                      folder_use::owner);
  auto made = copies.open(segment_name(number), open_file::created);
  if (!made) return made.error();
  std::string head(segment_header_size, '\0');
  std::size_t got = 0;
  int failed = (*read)->read(head.data(), head.size(), 0, got);
  auto header = decode_segment_header(head);
  if (header && !identity.empty()) {
    header->identity = identity;
    head = encode(*header);
  }
  if (failed == 0) failed = (*made)->write(head, 0);
  std::uint64_t end = 0;
  if (failed == 0) failed = (*read)->size(end);
  if (failed == 0 && part == part_of_segment::whole_groups && header) {
    failed = find_whole_end(**read, header->seed, end);
  }
  if (failed == 0) failed = copy(**read, segment_header_size, end, **made);
  if (failed == 0) failed = (*made)->flush();
  return failed == 0 ? result<void>() : to_error(failed, target, "copy " + segment_name(number));
}

result<std::vector<std::uint32_t>> segments_of(const std::string& path) {
  auto opened = open_folder_to_read(path);
  if (!opened) return opened.error();
  auto names = (*opened)->list();
  if (!names) return names.error();
  std::vector<std::uint32_t> out;
  for (const auto& each : *names) {
    if (const auto number = segment_number(each)) out.push_back(*number);
  }
  std::sort(out.begin(), out.end());
  if (out.empty()) return error(errc::invalid_argument, path + ": there is no journal");
  return out;
}

/// A second name for a segment that is full, or a copy where there can't be one.
result<void> take_full_segment(const std::string& folder, std::uint32_t number,
                               const part_folder& target) {
  const auto name = folder + "/" + segment_name(number);
  if (::link(name.c_str(), target.file(number).c_str()) == 0) return {};
  if (errno == ENOENT) return error(errc::not_found, name);
  const bool may_be_copied =
      errno == EXDEV || errno == EPERM || errno == EMLINK || errno == EOPNOTSUPP;
  if (!may_be_copied) return from_system(target.file(number));
  return copy_segment(folder, number, target.path(), part_of_segment::whole_file, {});
}

/// errc::not_found: the owner has removed the oldest segment meanwhile, or the listing has missed
/// one, as it may beside an owner that makes and removes files (readdir(3)).
result<void> take_all(const std::string& folder, const part_folder& target) {
  auto numbers = segments_of(folder);
  if (!numbers) return numbers.error();
  for (auto expected = numbers->front(); const auto number : *numbers) {
    if (number == expected++) continue;
    return error(errc::not_found,
                 folder + "/" + segment_name(expected - 1) + ": the file is missing");
  }
  for (const auto number : *numbers) {
    auto taken = number == numbers->back() ? copy_segment(folder, number, target.path(),
                                                          part_of_segment::whole_groups, {})
                                           : take_full_segment(folder, number, target);
    if (taken) continue;
    std::error_code ignored;
    for (const auto each : *numbers) std::filesystem::remove(target.file(each), ignored);
    return taken;
  }
  return {};
}

/// Without a slash at its end: names of other folders beside it are made of it.
std::string absolute(const std::string& path) {
  const auto whole = std::filesystem::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).string();
}

/// Is another volume mounted there? Then the name can't lead to another folder.
bool is_mount_point(const std::string& path) {
  struct statx about {};
  return ::statx(AT_FDCWD, path.c_str(), 0, 0, &about) == 0 &&
         (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/// The former folder gets the name of the new one.
bool exchange(const std::string& one, const std::string& other) {
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

/// What the part folder has become by the exchange: the former journal, or an empty folder.
result<std::string> name_former(part_folder& former, const std::string& path, bool had_segments) {
  if (!had_segments) return std::string();
  for (int number = 1;; ++number) {
    auto name = path + ".replaced-" + std::to_string(number);
    if (::renameat2(AT_FDCWD, former.path().c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) ==
        0) {
      former.keep();
      return name;
    }
    if (errno == EEXIST) continue;
    auto why = from_system(name);
    former.keep();  // it is the only one
    return why;
  }
}

/// As the folder of before, for root may restore what another user's process opens.
bool take_rights(const std::string& former, const std::string& made) {
  struct stat about {};
  if (::stat(former.c_str(), &about) != 0) return false;
  if (::chmod(made.c_str(), about.st_mode & 0777) != 0) return false;
  if (::geteuid() != 0) return true;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(made, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (::chown(it->path().c_str(), about.st_uid, about.st_gid) != 0) return false;
  }
  return !failed && ::chown(made.c_str(), about.st_uid, about.st_gid) == 0;
}

std::string another_identity() {
  std::array<unsigned char, 16> random{};
  base::random_bytes(random);
  return std::string(base::as_chars(random));
}

}  // namespace

int find_whole_end(const file& source, std::uint64_t seed, std::uint64_t& end) {
  std::uint64_t size = 0;
  const auto written = source.written_end();  // before anything is read
  if (const int failed = source.size(size); failed != 0) return failed;
  end = segment_header_size;
  std::uint64_t group = 0;
  bool again = false;
  for (;;) {
    const auto before = end;
    window seen(source);  // anew: a group whose begin was read too early is whole by now
    group = pass_groups(seen, seed, end, group);
    // One more may be just being written, or was torn.
    const auto bytes = seen.at(end, frame_header_size);
    const auto torn = bytes.size() < frame_header_size ? std::nullopt : read_header(bytes, seed);
    const bool followed =
        has_later_group(seen, seed, end, std::min(size, written), torn ? torn->group : group + 1);
    const int failed = seen.failed();
    if (failed != 0 || !followed) return failed;
    if (end != before) {
      again = false;
      continue;
    }
    // What was found may have been written behind the pass, but never before the next one.
    if (!std::exchange(again, true)) continue;
    end = size;  // damage: who reads the copy finds out where
    return 0;
  }
}

result<checked_journal> back_up(const journal_params& params, const std::string& target) {
  const auto whole = absolute(target);
  if (::access(whole.c_str(), F_OK) == 0) {
    return error(errc::conflict, target + ": is there already");
  }
  part_folder part(whole + ".part");
  if (auto made = part.make(); !made) return made.error();
  constexpr int attempts = 100;  // the owner removes segments by the minute, at most
  result<void> taken;
  for (int i = 0; i < attempts; ++i) {
    taken = take_all(params.path, part);
    if (taken || taken.error().code != errc::not_found) break;
  }
  if (!taken) return taken.error();
  const auto checked = check(part.path());
  if (!checked) return checked;
  if (!flush_folder(part.path())) return from_system(part.path());
  if (::renameat2(AT_FDCWD, part.path().c_str(), AT_FDCWD, whole.c_str(), RENAME_NOREPLACE) != 0) {
    return from_system(target);
  }
  part.keep();
  if (!flush_folder(folder_above(whole))) return from_system(target);
  return checked;
}

result<std::string> restore(const journal_params& params, const std::string& source) {
  const auto unchanged = [](const std::string& why) { return why + "; nothing was changed"; };
  const auto checked = check(source);
  if (!checked) return error(errc::invalid_argument, unchanged(checked.error().detail));
  const auto numbers = segments_of(source);
  if (!numbers) return numbers.error();
  // Where a link leads, so that the store stays on its disk.
  std::error_code failed;
  const auto resolved = base::resolved_path(params.path, failed);
  const auto path = failed ? absolute(params.path) : resolved.string();
  // Nobody opens it meanwhile. The lock is the folder's, whatever its name.
  const auto locked = open_folder(path);
  if (!locked) return locked.error();
  if (is_mount_point(path)) {
    return error(errc::invalid_argument,
                 unchanged(path + ": a volume is mounted there, and can't be replaced by a folder. "
                                  "Restore into a folder on that volume, and name that as the "
                                  "store"));
  }
  const auto former_segments = segments_of(path);
  // What can't be listed is not taken for empty.
  if (!former_segments && former_segments.error().code != errc::invalid_argument) {
    return error(former_segments.error().code, unchanged(former_segments.error().detail));
  }
  part_folder part(path + ".part");
  if (auto made = part.make(); !made) return made.error();
  // Others see by the identity that this store has forgotten something.
  const auto identity = another_identity();
  for (const auto number : *numbers) {
    const auto copied =
        copy_segment(source, number, part.path(), part_of_segment::whole_file, identity);
    if (!copied) return error(copied.error().code, unchanged(copied.error().detail));
  }
  if (!take_rights(path, part.path()) || !flush_folder(part.path())) {
    return from_system(part.path());
  }
  if (!exchange(part.path(), path)) return from_system(path);
  auto former = name_former(part, path, former_segments.has_value());
  if (!flush_folder(folder_above(path))) return from_system(path);
  return former;
}

result<checked_journal> check(const std::string& path) {
  auto opened = open_folder_to_read(absolute(path));
  if (!opened) return opened.error();
  key_table table;
  const auto found = recover(**opened, table, checkpoint_use::ignored);
  if (!found) return found.error();
  if (found->segments.empty()) {
    return error(errc::invalid_argument, path + ": there is no journal");
  }
  checked_journal out;
  for (std::size_t slot = 0; slot < table.slots(); ++slot) {
    const auto* entry = table.at_slot(slot);
    if (entry == nullptr) continue;
    ++out.keys;
    if (entry->unreadable) ++out.unreadable;
  }
  return out;
}

}  // namespace onceguard::journal
