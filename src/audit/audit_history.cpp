#include "audit/audit_history.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"
#include "base/number_in.hpp"

namespace onceguard {
namespace {

constexpr std::size_t block_size = 64u << 10;
constexpr std::size_t scan_max = 2u << 20;
// What is longer is no line that this program wrote; a hole of a full disk, for example.
constexpr std::size_t line_max = 256u << 10;

error strange_cursor() {
  return error(errc::invalid_argument, "cursor: it is none of this audit log as it is now");
}

error unreadable_file(const std::string& path, int why) {
  return error(errc::conflict,
               "the audit log " + path + " can't be read: " + std::generic_category().message(why));
}

/// "FILE-OFFSET": a file that was rotated away in the meantime has another number.
std::optional<std::uint64_t> offset_of(const std::string& cursor, std::uint64_t file,
                                       std::uint64_t size) {
  const auto dash = cursor.find('-');
  if (dash == cursor.npos) return std::nullopt;
  const auto number =
      base::number_in<std::uint64_t>(std::string_view(cursor).substr(0, dash), 0, UINT64_MAX);
  const auto offset =
      base::number_in<std::uint64_t>(std::string_view(cursor).substr(dash + 1), 0, size);
  return number == file ? offset : std::nullopt;
}

std::string cursor_at(std::uint64_t file, std::uint64_t offset) {
  return std::to_string(file) + "-" + std::to_string(offset);
}

/// Takes blocks from the end of a file on, and the lines in them from the last one on.
class backward_reader {
 public:
  backward_reader(int file, std::uint64_t first, std::uint64_t end, const audit_query& query)
      : file_(file), first_(first), start_(end), whole_(end), query_(query) {}

  /// 0: it went well; else the errno.
  int read(audit_page& out) {
    while (start_ > first_ && out.entries.size() < query_.limit && scanned_ < scan_max) {
      if (const int why = take_block(); why != 0) return why;
      take_lines(out);
      if (rest_.size() > line_max) rest_.clear();
    }
    return 0;
  }

  /// What is behind it was read.
  [[nodiscard]] std::uint64_t position() const { return start_ + rest_.size(); }
  /// The end of the last line that is whole.
  [[nodiscard]] std::uint64_t whole() const { return whole_; }

 private:
  int take_block() {
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(block_size, start_ - first_));
    std::string block(size, '\0');
    std::size_t done = 0;
    while (done < size) {
      const auto got = ::pread(file_, block.data() + done, size - done,
                               static_cast<off_t>(start_ - size + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno;
      if (got == 0) return ESPIPE;  // it was cut off meanwhile
      done += static_cast<std::size_t>(got);
    }
    start_ -= size;
    if (scanned_ == 0) whole_ = start_ + block.rfind('\n') + 1;  // npos + 1: 0
    scanned_ += size;
    rest_.insert(0, block);
    return 0;
  }

  void take_lines(audit_page& out) {
    while (!rest_.empty() && out.entries.size() < query_.limit) {
      const auto end = rest_.size() - (rest_.back() == '\n' ? 1 : 0);
      const auto before = end == 0 ? rest_.npos : rest_.rfind('\n', end - 1);
      if (before == rest_.npos && start_ > first_) return;
      const auto begin = before == rest_.npos ? 0 : before + 1;
      const bool taken = take_line(std::string_view(rest_).substr(begin, end - begin), out);
      if (taken && end == rest_.size()) whole_ = start_ + end;  // it lacks its newline alone
      rest_.resize(begin);
    }
  }

  /// Whether it is an entry.
  bool take_line(std::string_view line, audit_page& out) {
    if (line.empty()) return false;
    auto entry = read_audit_line(line);
    if (!entry) {
      ++out.unreadable;
      return false;
    }
    if (fits(query_, *entry)) out.entries.push_back(*std::move(entry));
    return true;
  }

  const int file_;
  const std::uint64_t first_;  // where the reading ends
  std::uint64_t start_;        // of what was read
  std::uint64_t whole_;
  const audit_query& query_;
  std::string rest_;  // what was read from there on, and is not taken yet
  std::size_t scanned_ = 0;
};

}  // namespace

bool fits(const audit_query& query, const audit_entry& entry) {
  return entry.key.find(query.key) != std::string::npos &&
         entry.author.find(query.author) != std::string::npos &&
         (query.record.empty() ||
          (!entry.record.empty() && query.record.starts_with(entry.record)));
}

std::optional<audit_entry> read_audit_line(std::string_view line) {
  // Where a disk was full, zeros may stand before a line.
  line.remove_prefix(std::min(line.find_first_not_of('\0'), line.size()));
  const auto read = nlohmann::json::parse(line, nullptr, false);
  if (!read.is_object()) return std::nullopt;
  audit_entry out;
  bool whole = true;
  const auto take = [&](const char* name, std::string& text) {
    const auto found = read.find(name);
    if (found != read.end() && found->is_string()) {
      text = found->get<std::string>();
    } else {
      whole = false;
    }
  };
  take("at", out.time);
  take("stage", out.stage);
  take("action", out.action);
  take("who", out.author);
  take("means", out.means);
  take("why", out.why);
  take("record", out.record);
  take("key", out.key);
  take("from", out.former);
  take("to", out.wanted);
  take("about", out.about);
  if (!whole) return std::nullopt;
  return out;
}

namespace {

/// A file that was cut off and has grown since, or another one of the same number, has other lines.
bool begins_line(int file, std::uint64_t offset) {
  char before = 0;
  return offset == 0 ||
         (::pread(file, &before, 1, static_cast<off_t>(offset - 1)) == 1 && before == '\n');
}

}  // namespace

result<std::optional<audit_page>> read_audit_file(const std::string& path,
                                                  const audit_query& query) {
  // O_NONBLOCK: what stands at the path may be a FIFO by now.
  const base::descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  // A file that was renamed comes back with the next line.
  if (file.get() < 0 && errno == ENOENT) return std::optional(audit_page());
  if (file.get() < 0) return unreadable_file(path, errno);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return unreadable_file(path, errno);
  if (!S_ISREG(about.st_mode)) return std::optional<audit_page>();
  const auto size = static_cast<std::uint64_t>(about.st_size);
  auto end = size;
  if (!query.cursor.empty()) {
    const auto known = offset_of(query.cursor, about.st_ino, size);
    if (!known) return strange_cursor();
    end = *known;
  }
  audit_page out;
  auto known = offset_of(query.after, about.st_ino, end);
  if (known && !begins_line(file.get(), *known)) known.reset();
  out.follows = known.has_value();
  backward_reader reader(file.get(), known.value_or(0), end, query);
  if (const int why = reader.read(out); why != 0) return unreadable_file(path, why);
  if (reader.position() > known.value_or(0)) {
    out.cursor = cursor_at(about.st_ino, reader.position());
  }
  if (query.cursor.empty()) out.newest = cursor_at(about.st_ino, reader.whole());
  return std::optional(std::move(out));
}

void recent_audit::add(audit_entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
  if (entries_.size() <= number_max) return;
  entries_.pop_front();
  ++first_;
}

result<audit_page> recent_audit::read(const audit_query& query) const {
  const std::lock_guard lock(mutex_);
  auto next = first_ + entries_.size();
  if (!query.cursor.empty()) {
    const auto known = offset_of(query.cursor, life_, next);
    if (!known) return strange_cursor();
    next = *known;
  }
  audit_page out;
  out.in_memory = true;
  if (query.cursor.empty()) out.newest = cursor_at(life_, next);
  const auto known = offset_of(query.after, life_, next);
  out.follows = known && *known >= first_;  // else some of what came since is gone
  const auto first = out.follows ? *known : first_;
  while (next > first && out.entries.size() < query.limit) {
    const auto& entry = entries_[static_cast<std::size_t>(--next - first_)];
    if (fits(query, entry)) out.entries.push_back(entry);
  }
  if (next > first) out.cursor = cursor_at(life_, next);
  return out;
}

}  // namespace onceguard
