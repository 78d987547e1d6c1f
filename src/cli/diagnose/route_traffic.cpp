#include "cli/diagnose/route_traffic.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/json_reader.hpp"
#include "base/time_text.hpp"

namespace onceguard::cli::diagnose {

using nlohmann::json;

namespace {

constexpr std::string_view unguarded = "unguarded";

// Outcomes that only a repeat with the same fingerprint gets.
constexpr std::array<std::string_view, 6> repeat_outcomes{"replayed", "waited",  "busy",
                                                          "backoff",  "unknown", "not_kept"};

std::uint64_t traffic_number(const json& object, const char* name) {
  return base::member<std::uint64_t>(object, name).value_or(0);
}

numbers_by_name numbers(const json& object, const char* name) {
  numbers_by_name out;
  const auto* const found = base::find_member(object, name);
  if (found == nullptr || !found->is_object()) return out;
  for (const auto& [member, value] : found->items()) {
    if (const auto number = base::value_of<std::uint64_t>(value)) out[member] = *number;
  }
  return out;
}

path_traffic read_path(const json& object) {
  path_traffic out;
  out.path = base::text_in(object, "path");
  out.requests = traffic_number(object, "requests");
  out.with_key = traffic_number(object, "with_key");
  out.tries = traffic_number(object, "tries");
  out.differed = traffic_number(object, "differed");
  out.spelled = traffic_number(object, "spelled");
  out.differing = numbers(object, "differing");
  out.callers = numbers(object, "callers");
  return out;
}

route_traffic read_route(const json& object) {
  route_traffic out;
  out.requests = out.observed = traffic_number(object, "requests");
  out.with_key = traffic_number(object, "with_key");
  out.anonymous = traffic_number(object, "anonymous");
  out.not_compared = traffic_number(object, "not_compared");
  out.repeats = traffic_number(object, "repeats");
  out.other_scopes = traffic_number(object, "other_scopes");
  out.contents_repeated = traffic_number(object, "contents_without_key") +
                          traffic_number(object, "contents_with_another_key");
  out.run_again =
      traffic_number(object, "repeats_run_again") + traffic_number(object, "contents_run_again");
  out.would_be = numbers(object, "would_be");
  out.without_key = out.count(unguarded);
  out.problems = numbers(object, "problems");
  for (const auto& path : base::list_in(object, "paths")) {
    if (path.is_object()) out.paths.push_back(read_path(path));
  }
  return out;
}

void add_request(const json& line, route_traffic& out) {
  ++out.requests;
  if (line.contains("record")) ++out.with_key;
  auto outcome = base::text_in(line, "outcome");
  if (outcome == "observed") {
    ++out.observed;
    outcome = base::text_in(line, "would_be");
    ++out.would_be[outcome];
    if (outcome == unguarded) ++out.without_key;
  } else {
    ++out.outcomes[outcome];
    // The others have no guarded method, or the store was out of reach.
    if (outcome == unguarded && base::text_in(line, "why") == "no_key") ++out.without_key;
  }
  if (outcome == "refused") ++out.problems[base::text_in(line, "problem")];
  const auto* end = repeat_outcomes.end();
  if (std::find(repeat_outcomes.begin(), end, outcome) != end) ++out.repeats;
}

/// The line of a route at the end of a process. What each request's line has is not added again.
void add_sum(const json& line, route_traffic& out) {
  out.contents_repeated += traffic_number(line, "contents_repeated");
  out.run_again += traffic_number(line, "repeats_run_again");
}

bool add_line(const std::string& bytes, traffic& out) {
  const auto line = json::parse(bytes, nullptr, false);
  if (!line.is_object() || !line.contains("event")) return false;
  const auto event = base::text_in(line, "event");
  const bool other_scope = event == "other-scope";
  if (event != "request" && event != "observed" && !other_scope) return true;
  auto& route = out.routes[base::text_in(line, "route")];
  if (other_scope) {
    ++route.other_scopes;  // of a guarded request
  } else {
    event == "request" ? add_request(line, route) : add_sum(line, route);
  }
  const auto time = base::text_in(line, "time");
  if (out.begin.empty() || time < out.begin) out.begin = time;
  if (time > out.end) out.end = time;
  return true;
}

}  // namespace

std::uint64_t route_traffic::count(std::string_view outcome) const {
  std::uint64_t out = 0;
  for (const auto* numbers : {&outcomes, &would_be}) {
    if (const auto found = numbers->find(outcome); found != numbers->end()) out += found->second;
  }
  return out;
}

result<traffic> read_observation(std::string_view bytes) {
  const auto whole = json::parse(bytes, nullptr, false);
  const auto* const routes = base::find_member(whole, "routes");
  if (routes == nullptr || !routes->is_array()) {
    return error(errc::conflict, "no counts came; is it the admin listener of a gateway?");
  }
  traffic out;
  out.begin = base::time_text(static_cast<std::int64_t>(traffic_number(whole, "since_ms")));
  out.end = base::time_text(base::system_clock().wall_ms());
  for (const auto& object : *routes) {
    if (object.is_object()) out.routes[base::text_in(object, "route")] = read_route(object);
  }
  return out;
}

void add_log(std::istream& lines, traffic& out) {
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !add_line(line, out)) ++out.lines_skipped;
  }
}

}  // namespace onceguard::cli::diagnose
