#include "http/lenient_path.hpp"

#include <algorithm>
#include <vector>

#include "base/field.hpp"
#include "base/url.hpp"

namespace onceguard::http {
namespace {

std::string decoded(std::string_view path) {
  std::string out(path);
  for (int times = 0; times < 2 && out.find('%') != out.npos; ++times) {
    auto once = base::percent_decoded(out);
    if (!once) break;
    out = *std::move(once);
  }
  for (char& c : out) {
    if (c == '\\') c = '/';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

/// Without what a server may drop at its ends.
std::string_view core_of(std::string_view segment) {
  segment = segment.substr(0, segment.find(';'));
  const auto is_dropped = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!segment.empty() && is_dropped(segment.front())) segment.remove_prefix(1);
  while (!segment.empty() && (is_dropped(segment.back()) || segment.back() == '.')) {
    segment.remove_suffix(1);
  }
  return segment;
}

/// Empty segments and dots are resolved.
std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    const auto whole = path.substr(0, end);
    const auto segment = core_of(whole);
    if (whole.starts_with("..")) {
      if (segment.empty() && !out.empty()) out.pop_back();
    }
    if (!segment.empty()) out.push_back(segment);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

}  // namespace

bool may_be_read_as(std::string_view path, std::string_view route) {
  const auto read = decoded(path);
  const auto wanted = decoded(route);
  const auto segments = segments_of(read);
  const auto expected = segments_of(wanted);
  if (segments.size() < expected.size()) return false;
  return std::equal(expected.begin(), expected.end(), segments.begin(),
                    [](std::string_view one, std::string_view found) {
                      if (!found.starts_with(one)) return false;
                      return found.size() == one.size() || found[one.size()] == '.';
                    });
}

}  // namespace onceguard::http
