#include "admin/record_path.hpp"

#include "base/hex.hpp"

namespace onceguard::admin {

std::optional<record_id> record_in_path(const request& request) {
  record_id id{};
  return base::from_hex(request.segment, id) ? std::optional(id) : std::nullopt;
}

response no_record_in_path() { return refusal(400, "A record id of 64 hex digits was expected."); }

}  // namespace onceguard::admin
