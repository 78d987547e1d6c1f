#include "store/redis/keyspace.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "store/redis/slots.hpp"

namespace onceguard::redis {
namespace {

std::string quoted_pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

keyspace::keyspace(const std::string& prefix, bool cut) : settled_(prefix + "settled") {
  if (!cut) {
    parts_.push_back({prefix + "r:", prefix + "store"});
    pattern_ = quoted_pattern(prefix + "r:") + "*";
    return;
  }
  for (const auto& tag : evenly_spread_tags(cluster_parts)) {
    auto begin = prefix;
    begin.append("{").append(tag).append("}:");
    const auto metadata = begin + "store";
    parts_.push_back({begin + "r:", metadata, slot_of(metadata)});
  }
  pattern_ = quoted_pattern(prefix) + "{*}:r:*";
}

std::string keyspace::record(const record_id& id) const {
  const auto& records = before_record(id);
  std::string out;
  out.reserve(records.size() + id.size());
  return out.append(records).append(base::as_chars(id));
}

std::optional<record_id> keyspace::id_of(std::string_view name) const {
  record_id out{};
  if (name.size() < out.size()) return std::nullopt;
  const auto digest = name.substr(name.size() - out.size());
  std::copy(digest.begin(), digest.end(), out.begin());
  if (name.substr(0, name.size() - out.size()) != parts_[part_of(out)].records) return std::nullopt;
  return out;
}

}  // namespace onceguard::redis
