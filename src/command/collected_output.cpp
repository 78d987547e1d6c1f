#include "command/collected_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/for_ever.hpp"

namespace onceguard {
namespace {

// A file is a row of frames: the stream, the size in four bytes (little-endian), the bytes.
constexpr std::size_t frame_head = 5;
constexpr std::size_t frame_most = 1u << 20;
constexpr std::string_view suffix = ".output";

std::array<char, frame_head> head_of(output_stream stream, std::size_t size) {
  std::array<char, frame_head> out{static_cast<char>(stream)};
  for (std::size_t i = 1; i < frame_head; ++i) {
    out[i] = static_cast<char>(size & 0xFFu);
    size >>= 8u;
  }
  return out;
}

bool write_output(int file, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool read_output(int file, char* bytes, std::size_t size) noexcept {
  while (size > 0) {
    const auto got = ::read(file, bytes, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// Private to the user: what a command writes may be secret.
bool make_output_folders(const std::string& folder) noexcept {
  for (std::size_t end = 0; end != folder.npos;) {
    end = folder.find('/', end + 1);
    if (::mkdir(folder.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

}  // namespace

void append(std::vector<output_piece>& pieces, output_stream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  if (pieces.empty() || pieces.back().stream != stream) {
    pieces.push_back({stream, std::string(bytes)});
  } else {
    pieces.back().bytes += bytes;
  }
}

collected_output::collected_output(const command_rules& rules, std::string file)
    : rules_(rules), path_(std::move(file)) {}

collected_output::~collected_output() {
  if (file_.is_open()) give_up_file();
}

void collected_output::add(output_stream stream, std::string_view bytes) {
  size_ += bytes.size();
  const bool fits = !file_begun_ && bytes.size() <= rules_.keep_output - in_memory_;
  if (!fits && !file_begun_) begin_file();
  if (file_.is_open()) write(stream, bytes);
  const auto room = rules_.keep_output - in_memory_;
  // Behind a gap nothing more is kept.
  if (in_memory_ + bytes.size() == size_ || room > 0) {
    const auto kept = bytes.substr(0, room);
    append(pieces_, stream, kept);
    in_memory_ += kept.size();
  }
}

void collected_output::begin_file() {
  file_begun_ = true;
  const auto slash = path_.rfind('/');
  if (path_.empty() || !make_output_folders(path_.substr(0, slash))) return;
  sweep_output_files(path_.substr(0, slash));
  file_ = base::descriptor(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  for (const auto& piece : pieces_) write(piece.stream, piece.bytes);
}

void collected_output::write(output_stream stream, std::string_view bytes) {
  while (file_.is_open() && !bytes.empty() && in_file_ < rules_.keep_in_file) {
    const auto room = std::min<std::uint64_t>(frame_most, rules_.keep_in_file - in_file_);
    const auto part = bytes.substr(0, room);
    const auto head = head_of(stream, part.size());
    if (!write_output(file_.get(), {head.data(), head.size()}) ||
        !write_output(file_.get(), part)) {
      // A full disk must not end the command: what is in the record is all that is kept.
      return give_up_file();
    }
    in_file_ += part.size();
    bytes.remove_prefix(part.size());
  }
}

void collected_output::give_up_file() noexcept {
  file_.close();
  ::unlink(path_.c_str());
}

void collected_output::move_to(command_result& result) {
  result.output = std::move(pieces_);
  result.output_size = size_;
}

void collected_output::keep_file(command_result& result, milliseconds retention) {
  if (!file_.is_open()) return;
  // Its time of modification is the end of its retention: see sweep_output_files.
  const auto end = base::system_clock().wall_ms() + base::bounded(retention).count();
  timespec times[2]{};
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = end / 1'000;
  if (::futimens(file_.get(), times) != 0 || ::fsync(file_.get()) != 0) return give_up_file();
  file_.close();
  result.output_file = path_;
}

bool show(const command_result& kept,
          const std::function<void(output_stream, std::string_view)>& take) {
  std::uint64_t shown = 0;
  if (!kept.output_file.empty()) {
    const base::descriptor file(::open(kept.output_file.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<unsigned char, frame_head> head{};
    std::string bytes;
    while (file.is_open() &&
           read_output(file.get(), reinterpret_cast<char*>(head.data()), head.size())) {
      std::size_t size = 0;
      for (std::size_t i = frame_head - 1; i > 0; --i) size = (size << 8u) | head[i];
      if (size > frame_most) break;
      bytes.resize(size);
      if (!read_output(file.get(), bytes.data(), size)) break;
      shown += size;
      take(head[0] == static_cast<unsigned char>(output_stream::err) ? output_stream::err
                                                                     : output_stream::out,
           bytes);
    }
    if (shown > 0) return shown == kept.output_size;
  }
  for (const auto& piece : kept.output) {
    shown += piece.bytes.size();
    take(piece.stream, piece.bytes);
  }
  return shown == kept.output_size;
}

void sweep_output_files(const std::string& folder) noexcept {
  auto* const list = ::opendir(folder.c_str());
  if (list == nullptr) return;
  const auto now = base::system_clock().wall_ms() / 1'000;
  while (const auto* const entry = ::readdir(list)) {
    const std::string_view name(entry->d_name);
    struct stat found {};
    const bool ours = name.ends_with(suffix) &&
                      ::fstatat(::dirfd(list), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0;
    // A file that is being written is younger than a day, whatever its command writes.
    if (ours && S_ISREG(found.st_mode) && found.st_mtim.tv_sec + 24 * 3'600 < now) {
      ::unlinkat(::dirfd(list), entry->d_name, 0);
    }
  }
  ::closedir(list);
}

}  // namespace onceguard
