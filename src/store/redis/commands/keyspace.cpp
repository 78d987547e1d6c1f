#include "store/redis/commands/keyspace.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"

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

constexpr std::uint16_t polynomial = 0x1021;  // CRC-16/XMODEM

constexpr std::array<std::uint16_t, 256> table = [] {
  std::array<std::uint16_t, 256> out{};
  for (unsigned byte = 0; byte < out.size(); ++byte) {
    unsigned sum = byte << 8;
    for (int bit = 0; bit < 8; ++bit) sum = (sum << 1) ^ ((sum & 0x8000) != 0 ? polynomial : 0u);
    out[byte] = static_cast<std::uint16_t>(sum & 0xffff);
  }
  return out;
}();

std::uint16_t crc16(std::string_view text) noexcept {
  unsigned sum = 0;
  for (const char c : text) {
    sum = (sum << 8 & 0xffff) ^ table[(sum >> 8 ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return static_cast<std::uint16_t>(sum);
}

}  // namespace

std::uint16_t slot_of(std::string_view name) noexcept {
  if (const auto open = name.find('{'); open != name.npos) {
    const auto close = name.find('}', open + 1);
    if (close != name.npos && close > open + 1) name = name.substr(open + 1, close - open - 1);
  }
  return crc16(name) % slot_count;
}

std::vector<std::string> evenly_spread_tags(std::size_t parts) {
  const std::size_t stretch = slot_count / parts;
  std::vector<std::string> out(parts);
  std::size_t left = parts;
  for (std::uint32_t number = 0; left > 0; ++number) {
    auto text = std::to_string(number);
    const std::size_t slot = slot_of(text);
    auto& name = out[slot / stretch];
    if (slot % stretch != stretch / 2 || !name.empty()) continue;
    name = std::move(text);
    --left;
  }
  return out;
}

keyspace::keyspace(const std::string& prefix, bool cut) : settled_(prefix + "settled") {
  if (!cut) {
    parts_.push_back({prefix + "r:", prefix + "store", prefix + "attention"});
    pattern_ = quoted_pattern(prefix + "r:") + "*";
    return;
  }
  for (const auto& tag : evenly_spread_tags(cluster_parts)) {
    auto begin = prefix;
    begin.append("{").append(tag).append("}:");
    const auto metadata = begin + "store";
    parts_.push_back({begin + "r:", metadata, begin + "attention", slot_of(metadata)});
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
