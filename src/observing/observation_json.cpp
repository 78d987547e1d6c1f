// The counts as JSON. Names are constant texts; only routes need quoting.
#include <onceguard/record.hpp>

#include "json/scalars.hpp"
#include "observing/observation.hpp"

namespace onceguard::observing {
namespace {

/// Appends the members of an object.
class object {
 public:
  explicit object(std::string& out) : out_(out) { out_ += '{'; }
  ~object() { out_ += '}'; }
  object(const object&) = delete;
  object& operator=(const object&) = delete;

  std::string& member(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(out_, name);
    return out_ += ':';
  }
  void number(std::string_view name, std::uint64_t value) { member(name) += std::to_string(value); }

 private:
  std::string& out_;
  bool first_ = true;
};

/// `{"100": 3, … "longer": 1}`: so many up to each number of milliseconds.
void append(std::string& out, const delays& seen) {
  object times(out);
  for (std::size_t i = 0; i < delays::bounds.size(); ++i) {
    times.number(std::to_string(delays::bounds[i].count()), seen.counts()[i]);
  }
  times.number("longer", seen.counts().back());
}

void append(std::string& out, const counts_by_name& counts) {
  object names(out);
  for (const auto& [name, count] : counts) names.number(name, count);
}

void append(std::string& out, std::string_view path, const path_counts& counts) {
  object path_object(out);
  append_json_string(path_object.member("path"), path);
  path_object.number("requests", counts.requests);
  path_object.number("with_key", counts.with_key);
  path_object.number("tries", counts.tries);
  path_object.number("differed", counts.differed);
  path_object.number("spelled", counts.spelled);
  append(path_object.member("differing"), counts.differing);
  append(path_object.member("callers"), counts.callers);
}

using paths_of_route = std::map<std::string, path_counts>;

void append(std::string& out, std::string_view route, const route_counts& counts,
            const paths_of_route& paths) {
  object route_object(out);
  append_json_string(route_object.member("route"), route);
  route_object.number("requests", counts.requests);
  route_object.number("with_key", counts.with_key);
  route_object.number("anonymous", counts.anonymous);
  route_object.number("not_compared", counts.not_compared);
  {
    object would_be(route_object.member("would_be"));
    for (std::size_t i = 0; i < counts.would_be.size(); ++i) {
      if (counts.would_be[i] == 0) continue;
      would_be.number(http::name_of(static_cast<http::request_outcome>(i)), counts.would_be[i]);
    }
  }
  {
    object problems(route_object.member("problems"));
    for (const auto& [name, count] : counts.problems) problems.number(name, count);
  }
  route_object.number("repeats", counts.repeats);
  route_object.number("repeats_run_again", counts.repeats_run_again);
  append(route_object.member("repeats_after_ms"), counts.repeat_delays);
  route_object.number("other_scopes", counts.other_scopes);
  route_object.number("contents_without_key", counts.contents_without_key);
  route_object.number("contents_with_another_key", counts.contents_with_another_key);
  route_object.number("contents_run_again", counts.contents_run_again);
  append(route_object.member("contents_after_ms"), counts.content_delays);
  auto& list = route_object.member("paths") += '[';
  for (const auto& [path, seen] : paths) {
    if (list.back() != '[') list += ',';
    append(list, path, seen);
  }
  list += ']';
}

}  // namespace

std::string observation::json() const {
  const auto found = this->counts();
  const auto tries = tries_.counts();
  const paths_of_route none;
  std::string out;
  {
    object whole(out);
    whole.number("since_ms", static_cast<std::uint64_t>(since_wall_ms_));
    whole.number("content_window_ms", static_cast<std::uint64_t>(content_window.count()));
    auto& routes = whole.member("routes") += '[';
    bool first = true;
    for (const auto& [route, counts] : found) {
      if (!first) routes += ',';
      first = false;
      const auto paths = tries.find(route);
      append(routes, route, counts, paths == tries.end() ? none : paths->second);
    }
    routes += ']';
  }
  return out;
}

}  // namespace onceguard::observing
