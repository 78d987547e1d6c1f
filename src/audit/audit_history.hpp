// What the audit log says, the newest first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

#include "base/clock.hpp"

namespace onceguard {

/// A line of the audit log.
struct audit_entry {
  std::string time;
  std::string stage;
  std::string action;
  std::string author;
  std::string means;
  std::string why;
  std::string record;  ///< the first digits of the record's id
  std::string key;
  std::string former;
  std::string wanted;
  std::string about;
};

/// Which lines are wanted; each member that is not empty must fit.
struct audit_query {
  std::string key{};     ///< a part of the key
  std::string author{};  ///< a part of the name
  std::string record{};  ///< the first digits of the record's id
  std::size_t limit = 100;
  std::string cursor{};  ///< of a page; empty: from the newest on
  std::string after{};   ///< `newest` of a page: what is newer alone; empty, or unknown here: all
};

struct audit_page {
  std::vector<audit_entry> entries;
  std::size_t unreadable = 0;  ///< lines among these that are no entries
  std::string cursor;          ///< of the next page; empty: there is none
  std::string newest;          ///< for `after`: where the log ends now; not of a page by `cursor`
  bool follows = false;        ///< whether `after` was known
  bool in_memory = false;      ///< of this process, since its start; else of the file
};

[[nodiscard]] bool fits(const audit_query& query, const audit_entry& entry);
/// None: it is no line of an audit log.
[[nodiscard]] std::optional<audit_entry> read_audit_line(std::string_view line);

/// Reads the file backwards from its end. A call reads about 2 MiB at most, however long the file
/// is: a page may be short, or empty, and have a cursor. None: it is no file that can be read so.
[[nodiscard]] result<std::optional<audit_page>> read_audit_file(const std::string& path,
                                                                const audit_query& query);

/// The last entries of this process, where no file keeps them. Thread-safe.
class recent_audit {
 public:
  static constexpr std::size_t number_max = 500;

  void add(audit_entry entry);
  [[nodiscard]] result<audit_page> read(const audit_query& query) const;

 private:
  mutable std::mutex mutex_;
  std::deque<audit_entry> entries_;
  std::uint64_t first_ = 0;  // the number of the first one
  // Tells its numbers from those of another process.
  const std::uint64_t life_ = static_cast<std::uint64_t>(base::system_clock().wall_ms());
};

}  // namespace onceguard
