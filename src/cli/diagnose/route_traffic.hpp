// What became of requests by route, read from a gateway or from its access log.
#pragma once
#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::cli::diagnose {

using numbers_by_name = std::map<std::string, std::uint64_t, std::less<>>;

/// Of the requests of one beginning of a path: what routes are recommended from.
struct path_traffic {
  std::string path;
  std::uint64_t requests = 0;
  std::uint64_t with_key = 0;
  std::uint64_t tries = 0;     ///< a key came again
  std::uint64_t differed = 0;  ///< of them: anything was another
  std::uint64_t spelled = 0;   ///< of them: only the spelling of the JSON was
  numbers_by_name differing;   ///< "json:/sent_at", "header:authorization", "body"
  numbers_by_name callers;     ///< "Authorization: Bearer", "Cookie: sid", "X-User"
};

struct route_traffic {
  std::uint64_t requests = 0;
  std::uint64_t observed = 0;  ///< of them: passed by `observe = true`
  std::uint64_t with_key = 0;
  std::uint64_t without_key = 0;        ///< passed unguarded, on a route that requires none
  std::uint64_t anonymous = 0;          ///< of those with a key: the scope is shared
  std::uint64_t not_compared = 0;       ///< observed, and the body was not read wholly
  std::uint64_t repeats = 0;            ///< a key came again with its fingerprint
  std::uint64_t other_scopes = 0;       ///< both came again, under another scope
  std::uint64_t contents_repeated = 0;  ///< no key, or another one, and the content of another
  std::uint64_t run_again = 0;          ///< of both: first one and repeat got an answer of success
  numbers_by_name outcomes;             ///< of guarded requests
  numbers_by_name would_be;             ///< of observed requests
  numbers_by_name problems;             ///< of refusals
  std::vector<path_traffic> paths;      ///< of a gateway's own counts alone

  /// Guarded and observed ones.
  [[nodiscard]] std::uint64_t count(std::string_view outcome) const;
  /// Repeats that get, or would get, the first one's answer.
  [[nodiscard]] std::uint64_t replays() const { return count("replayed") + count("waited"); }
};

struct traffic {
  std::map<std::string, route_traffic, std::less<>> routes;
  std::string begin;  ///< time_text()s; empty: not known
  std::string end;
  std::uint64_t lines_skipped = 0;  ///< that are no JSON of the log
};

/// Reads what GET /api/report answers. errc::conflict: it is something else.
[[nodiscard]] result<traffic> read_observation(std::string_view text);

/// Adds the lines of a log: its events `request` and `observed`.
void add_log(std::istream& lines, traffic& out);

}  // namespace onceguard::cli::diagnose
