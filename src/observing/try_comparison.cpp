#include "observing/try_comparison.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace onceguard::observing {
namespace {

std::uint32_t short_hash(std::string_view text) {
  return static_cast<std::uint32_t>(base::checksum_of(text));
}

bool is_of_caller(std::string_view name) {
  return name == "header:authorization" || name == "header:cookie";
}

/// Adds one, unless the list is full of other names.
void count_name(counts_by_name& counts, const std::string& name) {
  if (const auto known = counts.find(name); known != counts.end()) {
    ++known->second;
  } else if (counts.size() < try_comparison::names_max) {
    counts.emplace(name, 1);
  }
}

}  // namespace

try_comparison::known_try try_comparison::cut(const request_parts& parts) {
  known_try out;
  out.body = parts.body;
  std::string caller;
  for (const auto* list : {&parts.fields, &parts.members}) {
    for (const auto& part : *list) {
      if (is_of_caller(part.name)) caller += std::to_string(part.value) + ' ';
      if (out.size == parts_max) continue;
      out.parts[out.size++] = {short_hash(part.name), static_cast<std::uint32_t>(part.value)};
    }
  }
  out.caller = base::checksum_of(caller);
  std::sort(out.parts.begin(), out.parts.begin() + out.size,
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

/// Two callers may happen to use one key: what has neither the caller nor the body of the first try
/// is none of its tries.
try_comparison::difference try_comparison::compare(const known_try& first, const known_try& later) {
  difference out;
  out.is_try = first.body == later.body || first.caller == later.caller;
  out.body = first.body != later.body;
  if (!out.is_try) return out;
  const auto other = [&](const known_part& part, const known_try& in_other) {
    const auto end = in_other.parts.begin() + in_other.size;
    return std::none_of(in_other.parts.begin(), end, [&](const known_part& each) {
      return each.name == part.name && each.value == part.value;
    });
  };
  for (const auto* one : {&first, &later}) {
    for (std::uint32_t i = 0; i < one->size; ++i) {
      if (other(one->parts[i], one == &first ? later : first))
        out.names.push_back(one->parts[i].name);
    }
  }
  std::sort(out.names.begin(), out.names.end());
  out.names.erase(std::unique(out.names.begin(), out.names.end()), out.names.end());
  return out;
}

try_comparison::difference try_comparison::compare_with_first(std::string_view key,
                                                              const http::request& request,
                                                              std::string_view path,
                                                              const known_try& seen) {
  std::call_once(
      made_, [this] { first_tries_ = std::make_unique<base::recent_table<known_try>>(entries_); });
  std::string work;
  for (const auto part : {key, request.method, path}) work.append(part).append("\n");
  return first_tries_->update(base::checksum_of(work), [&](known_try& first, bool found) {
    if (found) return compare(first, seen);
    first = seen;
    return difference();
  });
}

/// Hashes are kept of what was seen; the names of parts are few.
void try_comparison::learn_names(const request_parts& parts) {
  constexpr std::size_t known_max = 1024;
  for (const auto* list : {&parts.fields, &parts.members}) {
    for (const auto& part : *list) {
      if (names_.size() < known_max) names_.emplace(short_hash(part.name), part.name);
    }
  }
}

void try_comparison::count(path_counts& counts, const difference& found) {
  if (!found.is_try) return;
  ++counts.tries;
  if (!found.body && found.names.empty()) return;
  ++counts.differed;
  bool member = false;
  for (const auto name : found.names) {
    const auto known = names_.find(name);
    if (known == names_.end()) continue;
    count_name(counts.differing, known->second);
    member = member || known->second.starts_with("json:");
  }
  if (found.body && !member) {
    count_name(counts.differing, "body");
    if (found.names.empty()) ++counts.spelled;
  }
}

path_counts* try_comparison::find_path(std::string_view route, const std::string& path) {
  auto paths = counts_.find(route);
  if (paths != counts_.end()) {
    if (const auto known = paths->second.find(path); known != paths->second.end()) {
      return &known->second;
    }
  }
  if (paths_ >= paths_max) return nullptr;
  ++paths_;
  if (paths == counts_.end())
    paths = counts_.emplace(std::string(route), decltype(paths->second)()).first;
  return &paths->second[path];
}

void try_comparison::see(std::string_view route, std::string_view key, const http::request& request,
                         bool whole) {
  const auto path = path_beginning(request.target);
  difference found;
  request_parts parts;
  std::vector<std::string> callers;
  if (!key.empty()) {
    callers = callers_of(request);
    if (whole) {
      parts = parts_of(request);
      found = compare_with_first(key, request, path, cut(parts));
    }
  }
  const std::lock_guard lock(mutex_);
  learn_names(parts);
  auto* const counts = find_path(route, path);
  if (counts == nullptr) return;
  ++counts->requests;
  if (key.empty()) return;
  ++counts->with_key;
  for (const auto& name : callers) count_name(counts->callers, name);
  count(*counts, found);
}

std::map<std::string, std::map<std::string, path_counts>, std::less<>> try_comparison::counts()
    const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace onceguard::observing
