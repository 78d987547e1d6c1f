// Finds the route that applies to a request.
#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/http_message.hpp>

namespace onceguard::http {

/// The text of the refusal if route_table::leads_around_a_key() is true.
inline constexpr std::string_view around_a_key_text =
    "Servers read this path or host differently, and so it may lead around a rule that requires a "
    "key.";

/// The same for a rule whose requests are signed.
inline constexpr std::string_view around_a_signature_text =
    "The service may read this path or host as that of a rule whose requests are signed.";

[[nodiscard]] std::string_view without_port(std::string_view host) noexcept;
/// `host` is without port, `path` is normalised.
[[nodiscard]] bool fits(const route& rule, std::string_view host, std::string_view path,
                        std::string_view method);
[[nodiscard]] bool more_specific(const route& a, const route& b) noexcept;
[[nodiscard]] bool requires_key(const route& rule, std::string_view method);

/// A host and a path, as another server may read them.
using reading = std::pair<std::string_view, std::string>;
/// The other readings of host and raw path; empty optional: more than a legitimate path has.
[[nodiscard]] std::optional<std::vector<reading>> other_readings(std::string_view host,
                                                                 std::string_view path);
[[nodiscard]] bool has_other_readings(std::string_view host, std::string_view path) noexcept;

/// Entries have a `rule` that is a route. Immutable.
template <class Entry>
class route_table {
 public:
  explicit route_table(std::vector<Entry> entries) : entries_(std::move(entries)) {
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return more_specific(a.rule, b.rule); });
  }

  /// `host` is the value of the Host field (with or without port), `path` is normalised. Null if no
  /// rule matches.
  [[nodiscard]] const Entry* match(std::string_view host, std::string_view path,
                                   std::string_view method) const {
    host = without_port(host);
    for (const auto& entry : entries_) {
      if (fits(entry.rule, host, path, method)) return &entry;
    }
    return nullptr;
  }

  /// Whether a server could interpret host or path in such a way that another rule than `found`
  /// matches, and one of the two rules requires a key for the method. `path` is raw. `found` may be
  /// null: no rule matches.
  [[nodiscard]] bool leads_around_a_key(const Entry* found, std::string_view host,
                                        std::string_view path, std::string_view method) const {
    host = without_port(host);
    if (!has_other_readings(host, path)) return false;
    const auto matters = [&](const Entry& entry) { return requires_key(entry.rule, method); };
    if (std::none_of(entries_.begin(), entries_.end(), matters)) return false;
    const auto readings = other_readings(host, path);
    if (!readings) return true;
    const bool required = found != nullptr && matters(*found);
    return std::any_of(readings->begin(), readings->end(), [&](const reading& read) {
      const auto* other = match(read.first, read.second, method);
      return other != found && (required || (other != nullptr && matters(*other)));
    });
  }

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  std::vector<Entry> entries_;  // most specific first
};

}  // namespace onceguard::http
