// The counts as JSON. Names are constant texts; only routes need quoting.
#include <onceguard/record.hpp>

#include "json/scalars.hpp"
#include "observe/observation.hpp"

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
    core::append_json_string(out_, name);
    return out_ += ':';
  }
  void number(std::string_view name, std::uint64_t value) { member(name) += std::to_string(value); }

 private:
  std::string& out_;
  bool first_ = true;
};

/// `{"100": 3, … "longer": 1}`: so many up to each number of milliseconds.
void append(std::string& out, const delays& of) {
  object times(out);
  for (std::size_t i = 0; i < delays::bounds.size(); ++i) {
    times.number(std::to_string(delays::bounds[i].count()), of.counts()[i]);
  }
  times.number("longer", of.counts().back());
}

void append(std::string& out, std::string_view route, const route_counts& of) {
  object to(out);
  core::append_json_string(to.member("route"), route);
  to.number("requests", of.requests);
  to.number("with_key", of.with_key);
  to.number("anonymous", of.anonymous);
  to.number("not_compared", of.not_compared);
  {
    object would_be(to.member("would_be"));
    for (std::size_t i = 0; i < of.would_be.size(); ++i) {
      if (of.would_be[i] == 0) continue;
      would_be.number(http::name_of(static_cast<http::request_outcome>(i)), of.would_be[i]);
    }
  }
  {
    object problems(to.member("problems"));
    for (const auto& [name, count] : of.problems) problems.number(name, count);
  }
  to.number("repeats", of.repeats);
  to.number("repeats_run_again", of.repeats_run_again);
  append(to.member("repeats_after_ms"), of.repeat_delays);
  to.number("contents_without_key", of.contents_without_key);
  to.number("contents_with_another_key", of.contents_with_another_key);
  to.number("contents_run_again", of.contents_run_again);
  append(to.member("contents_after_ms"), of.content_delays);
}

}  // namespace

std::string observation::json() const {
  const auto found = counts();
  std::string out;
  {
    object whole(out);
    whole.number("since_ms", static_cast<std::uint64_t>(since_wall_ms_));
    whole.number("content_window_ms", static_cast<std::uint64_t>(content_window.count()));
    auto& routes = whole.member("routes") += '[';
    bool first = true;
    for (const auto& [route, of] : found) {
      if (!first) routes += ',';
      first = false;
      append(routes, route, of);
    }
    routes += ']';
  }
  return out;
}

}  // namespace onceguard::observing
