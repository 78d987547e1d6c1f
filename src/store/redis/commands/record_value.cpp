#include "store/redis/commands/record_value.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "core/record_codec.hpp"

namespace onceguard::redis {
namespace {

constexpr std::size_t number_size = 8;
// Format, state, flags, reason, what is kept, token, claim id: as record_codec begins.
constexpr std::size_t lease_size = 29;
constexpr std::size_t fixed_size = 4 * number_size;  // two stamps, the first stamp, its checksum
// In a payload, the moment of its write. Times above the half of it are relative to that moment,
// times below are by the server's clock; 0 means "none".
constexpr std::int64_t moment_of_write = std::int64_t{1} << 60;
// A hundred years: Redis takes no life that reaches beyond 2^63.
constexpr std::int64_t life_max = 3'153'600'000'000;

constexpr std::array times{&record::deadline_lease, &record::retry_at_lease,
                           &record::claimed_at_wall, &record::settled_at_wall,
                           &record::expires_at_wall};

error unreadable(const char* why) {
  return error(errc::record_unreadable, std::string("stored record: ") + why);
}

}  // namespace

stamp_bytes bytes_of(std::uint64_t value) noexcept {
  stamp_bytes out{};
  for (auto byte = out.rbegin(); byte != out.rend(); ++byte, value >>= 8) {
    *byte = static_cast<unsigned char>(value & 0xff);
  }
  return out;
}

std::uint64_t number_of(std::string_view bytes) noexcept {
  std::uint64_t out = 0;
  for (const char each : bytes) out = out << 8 | static_cast<unsigned char>(each);
  return out;
}

instant instant_of(stamp time) noexcept {
  instant out;
  out.lease = out.wall = static_cast<std::int64_t>(time / 1'000);
  return out;
}

result<stamp> read_stamp(std::string_view bytes) {
  if (bytes.size() != number_size) return unreadable("its stamp is no stamp");
  return number_of(bytes);
}

record undated(record stored, const instant& now, const record* former) {
  // The end of a lease is always set anew, if perhaps to the same time.
  const bool may_keep_all = former != nullptr && former->settled_at_wall != 0;
  for (const auto time : times) {
    const bool may_keep = may_keep_all || (former != nullptr && time == &record::claimed_at_wall);
    const bool kept = may_keep && former->*time == stored.*time;
    if (stored.*time != 0 && !kept) stored.*time += moment_of_write - now.wall;
  }
  return stored;
}

void date(record& undated, stamp written) noexcept {
  for (const auto time : times) {
    if (undated.*time > moment_of_write / 2)
      undated.*time += instant_of(written).wall - moment_of_write;
  }
  // A claim that was released before it arrived has no token.
  if (undated.token == 0 && undated.state != record_state::released) undated.token = written;
}

std::string encode_payload(const record& undated, stamp first) {
  const auto first_bytes = bytes_of(first);
  const auto sum = bytes_of(base::checksum_of(base::as_chars(first_bytes)));
  return encode_record(undated).append(base::as_chars(first_bytes)).append(base::as_chars(sum));
}

std::string_view lease_of(std::string_view payload) { return payload.substr(0, lease_size); }

std::string beginning_of(stamp written, std::string_view lease) {
  return std::string(base::as_chars(bytes_of(written))).append(lease);
}

std::string_view beginning_of(std::string_view value) {
  return value.substr(0, number_size + lease_size);
}

std::string life_of(const record& undated, const instant& now) {
  const auto end = undated.expires_at_wall;
  if (end == 0) return {};
  const auto begin = end > moment_of_write / 2 ? moment_of_write : now.wall;
  // Redis refuses a life of 0 or less as an error ("invalid expire time"): what is over lives 1 ms.
  return std::to_string(std::clamp<std::int64_t>(end - begin, 1, life_max));
}

result<stored_record> decode_value(std::string_view value) {
  if (value.size() < fixed_size) return unreadable("it is cut short");
  stored_record out;
  const auto written = value.substr(0, number_size);
  if (!value.ends_with(written)) return unreadable("its two stamps differ: it is damaged");
  value.remove_prefix(number_size);
  value.remove_suffix(number_size);
  const auto sum_bytes = value.substr(value.size() - number_size);
  value.remove_suffix(number_size);
  const auto first_bytes = value.substr(value.size() - number_size);
  value.remove_suffix(number_size);
  auto decoded = decode_record(value);
  if (!decoded) return decoded.error();
  if (base::checksum_of(first_bytes) != number_of(sum_bytes)) {
    return unreadable("its checksum is wrong: it is damaged");
  }
  out.last = number_of(written);
  out.first = number_of(first_bytes);
  if (out.first == 0) out.first = out.last;
  out.record = std::move(*decoded);
  date(out.record, out.last);
  return out;
}

}  // namespace onceguard::redis
