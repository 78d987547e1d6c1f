// Compares the tries of one key part by part: what differs between them, and what their callers may
// be known by. From this, routes are recommended.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <onceguard/http_message.hpp>

#include "base/recent_table.hpp"
#include "observing/request_parts.hpp"

namespace onceguard::observing {

using counts_by_name = std::map<std::string, std::uint64_t, std::less<>>;

/// Of the requests of one beginning of a path.
struct path_counts {
  std::uint64_t requests = 0;
  std::uint64_t with_key = 0;
  std::uint64_t tries = 0;     ///< a key came again, with the caller or the body of its first try
  std::uint64_t differed = 0;  ///< of them: anything was another
  std::uint64_t spelled = 0;   ///< of them: only the spelling of the JSON was
  counts_by_name differing;    ///< tries by the part that was another, or was missing
  counts_by_name callers;      ///< requests with a key, by how their caller may be known
};

/// Remembers a bounded number of keys and names. Thread-safe.
class try_comparison {
 public:
  static constexpr std::size_t usual_entries = 4 * 1024;  // 1.7 MiB
  static constexpr std::size_t paths_max = 64;            // of all routes
  static constexpr std::size_t names_max = 32;            // of one path

  explicit try_comparison(std::size_t entries = usual_entries) : entries_(entries) {}

  /// A request that is observed. `key`: empty, if it has none that can be used. `whole`: its body
  /// is there.
  void see(std::string_view route, std::string_view key, const http::request& request, bool whole);

  /// By route, and by the beginning of the path.
  [[nodiscard]] std::map<std::string, std::map<std::string, path_counts>, std::less<>> counts()
      const;

 private:
  static constexpr std::size_t parts_max = 48;
  struct known_part {
    std::uint32_t name = 0;
    std::uint32_t value = 0;
  };
  struct known_try {
    std::uint64_t body = 0;
    std::uint64_t caller = 0;
    std::uint32_t size = 0;
    std::array<known_part, parts_max> parts{};
  };
  struct difference {
    bool is_try = false;
    bool body = false;
    std::vector<std::uint32_t> names;
  };

  [[nodiscard]] static known_try cut(const request_parts& parts);
  [[nodiscard]] static difference compare(const known_try& first, const known_try& later);
  [[nodiscard]] difference compare_with_first(std::string_view key, const http::request& request,
                                              std::string_view path, const known_try& seen);
  void learn_names(const request_parts& parts);
  void count(path_counts& counts, const difference& found);
  [[nodiscard]] path_counts* find_path(std::string_view route, const std::string& path);

  const std::size_t entries_;
  std::once_flag made_;
  std::unique_ptr<base::recent_table<known_try>> first_tries_;
  mutable std::mutex mutex_;
  std::size_t paths_ = 0;  // all under it
  std::map<std::uint32_t, std::string> names_;
  std::map<std::string, std::map<std::string, path_counts>, std::less<>> counts_;
};

}  // namespace onceguard::observing
