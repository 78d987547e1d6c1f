#include "store/dynamodb/wire/payload.hpp"

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "core/record_codec.hpp"
#include "store/record_errors.hpp"

namespace onceguard::dynamodb {
namespace {

/// The moment of the write. Redis has the same number in its records.
constexpr std::int64_t moment_of_write = std::int64_t{1} << 60;
constexpr std::size_t number_size = 8;
// First claim, writes, size of the body; the pieces' name, count, size and checksum; checksum.
constexpr std::size_t numbers = 7;
constexpr std::size_t trailer_size = (numbers + 1) * number_size;

void append_payload_number(std::string& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::uint64_t payload_number(std::string_view bytes, std::size_t index) noexcept {
  std::uint64_t out = 0;
  for (const char each : bytes.substr(index * number_size, number_size)) {
    out = out << 8 | static_cast<unsigned char>(each);
  }
  return out;
}

}  // namespace

std::string text_of(const lease_mark& mark) {
  return std::to_string(mark.token) + '-' + base::to_hex(mark.claim_id) + '-' +
         std::to_string(mark.writes);
}

record undated(record stored, const instant& now) {
  stored.deadline_lease += moment_of_write - now.lease;
  if (stored.retry_at_lease != 0) stored.retry_at_lease += moment_of_write - now.lease;
  return stored;
}

record dated(record stored, std::int64_t written) {
  stored.deadline_lease += written - moment_of_write;
  if (stored.retry_at_lease == 0) return stored;
  stored.retry_at_lease += written - moment_of_write;
  if (stored.retry_at_lease == 0) stored.retry_at_lease = 1;  // 0 means that there is none
  return stored;
}

std::string encode_payload(const stored_record& stored) {
  std::string trailer;
  for (const auto value : {stored.first, stored.writes, stored.body_size, stored.pieces.name,
                           stored.pieces.count, stored.pieces.size, stored.pieces.checksum}) {
    append_payload_number(trailer, value);
  }
  append_payload_number(trailer, base::checksum_of(trailer));
  return encode_record(stored.record) + trailer;
}

result<stored_record> decode_payload(std::string_view bytes) {
  if (bytes.size() < trailer_size) return unreadable("it is cut short");
  const auto trailer = bytes.substr(bytes.size() - trailer_size);
  if (base::checksum_of(trailer.substr(0, numbers * number_size)) !=
      payload_number(trailer, numbers)) {
    return unreadable("its checksum is wrong: it is damaged");
  }
  auto decoded = decode_record(bytes.substr(0, bytes.size() - trailer_size));
  if (!decoded) return decoded.error();
  stored_record out;
  out.record = std::move(*decoded);
  out.first = payload_number(trailer, 0);
  out.writes = payload_number(trailer, 1);
  out.body_size = payload_number(trailer, 2);
  out.pieces = {payload_number(trailer, 3), payload_number(trailer, 4), payload_number(trailer, 5),
                payload_number(trailer, 6)};
  return out;
}

bool is_unsettled(const record& stored) noexcept {
  return stored.state == record_state::started || stored.state == record_state::in_progress ||
         stored.state == record_state::probing;
}

bool waits(const record& stored) noexcept {
  return is_unsettled(stored) || stored.state == record_state::failed;
}

}  // namespace onceguard::dynamodb
