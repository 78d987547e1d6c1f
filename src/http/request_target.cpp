#include "http/request_target.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/octets.hpp"
#include "base/url.hpp"

namespace onceguard::http {
namespace {

std::string decode_unreserved(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto octet = base::escape_in(path.substr(i));
    if (!octet) {
      out += path[i];
      continue;
    }
    if (base::unreserved_octets[*octet]) {
      out += static_cast<char>(*octet);
    } else {
      base::append_escape(out, *octet);
    }
    i += 2;
  }
  return out;
}

std::string decode_all(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto octet = base::escape_in(path.substr(i));
    out += octet ? static_cast<char>(*octet) : path[i];
    if (octet) i += 2;
  }
  return out;
}

std::string slash_for_backslash(std::string_view path) {
  std::string out(path);
  std::replace(out.begin(), out.end(), '\\', '/');
  return out;
}

std::string without_parameters(std::string_view path) {
  std::string out;
  bool in_parameters = false;
  for (const char c : path) {
    if (c == '/' || c == ';') in_parameters = c == ';';
    if (!in_parameters) out += c;
  }
  return out;
}

std::string merge_slashes(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c != '/' || !out.ends_with('/')) out += c;
  }
  return out;
}

/// The parts of "http://host/a?b"; empty for the other forms, of which nearly all targets are.
std::optional<base::url_parts> absolute_form(std::string_view target) noexcept {
  if (target.starts_with('/')) return std::nullopt;
  const auto parts = base::split_url(target);
  return parts.authority ? std::optional(parts) : std::nullopt;
}

std::string up_to_an_end(std::string_view path) {
  return std::string(path.substr(0, path.find_first_of(std::string_view("\0?#", 3))));
}

}  // namespace

target_parts split_target(std::string_view target) noexcept {
  if (const auto url = absolute_form(target)) {
    return {url->path.empty() ? "/" : url->path, url->query};
  }
  const auto question = target.find('?');
  if (question == target.npos) return {target.empty() ? "/" : target, std::nullopt};
  return {question == 0 ? "/" : target.substr(0, question), target.substr(question + 1)};
}

std::string normalise_path(std::string_view path) {
  const auto decoded = decode_unreserved(path);
  std::string out;
  out.reserve(decoded.size());
  std::string_view rest = decoded;
  // RFC 3986 section 5.2.4, segment by segment; each segment includes the slash before it.
  while (!rest.empty()) {
    const auto slash = rest.find('/', 1);
    const auto segment = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash);
    if (segment == "/.") {
      if (rest.empty()) out += '/';
    } else if (segment == "/..") {
      const auto last = out.rfind('/');
      out.resize(last == std::string::npos ? 0 : last);
      if (rest.empty()) out += '/';
    } else {
      out += segment;
    }
  }
  return out.empty() ? "/" : out;
}

std::string path_to_match(std::string_view target) {
  return target == "*" ? "/" : normalise_path(split_target(target).path);
}

bool concerns_whole_server(std::string_view method, std::string_view target) noexcept {
  if (method != "OPTIONS") return false;
  const auto url = absolute_form(target);
  return target == "*" || (url && url->path.empty() && !url->query);
}

bool has_other_readings(std::string_view path) noexcept {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c == '%' || c == ';' || c == '\\') return true;
    if (c == '/' && i > 0 && path[i - 1] == '/') return true;
  }
  return false;
}

std::optional<std::vector<std::string>> other_readings(std::string_view path) {
  constexpr std::array rewrites{decode_all,    slash_for_backslash, without_parameters,
                                merge_slashes, up_to_an_end,        normalise_path};
  constexpr std::size_t most = 64;
  std::vector<std::string> read(1, std::string(path));
  for (std::size_t i = 0; i < read.size(); ++i) {
    for (const auto rewrite : rewrites) {
      auto made = rewrite(read[i]);
      if (std::find(read.begin(), read.end(), made) != read.end()) continue;
      if (read.size() == most) return std::nullopt;
      read.push_back(std::move(made));
    }
  }
  const auto literal = normalise_path(path);
  std::vector<std::string> out;
  for (const auto& one : read) {
    auto normal = normalise_path(one);
    if (normal != literal) out.push_back(std::move(normal));
  }
  return out;
}

bool has_ambiguous_escape(std::string_view path) noexcept {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto octet = base::escape_in(path.substr(i));
    if (octet == '/' || octet == '\\' || octet == '\0') return true;
  }
  return false;
}

bool path_matches(std::string_view prefix, std::string_view path) noexcept {
  if (!path.starts_with(prefix)) return false;
  return prefix.ends_with('/') || path.size() == prefix.size() || path[prefix.size()] == '/';
}

// ---- how generously servers read a path

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
