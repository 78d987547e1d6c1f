#include "store/dynamodb/record_reading.hpp"

#include <algorithm>
#include <charconv>

#include "base/hash.hpp"
#include "core/record_codec.hpp"
#include "store/record_errors.hpp"
#include "store/record_view.hpp"

namespace onceguard::dynamodb {
namespace {

result<stored_record> decode_item(const item& found) {
  if (!found.record) return unreadable("its item has no attribute record, or one of another type");
  auto decoded = decode_payload(*found.record);
  if (!decoded) return decoded;
  if (found.lease != text_of(decoded->mark())) {
    return unreadable("its attributes lease and record do not belong together");
  }
  if (!decoded->record.about) return subject_unreadable();
  return decoded;
}

}  // namespace

token reading::token_beyond() const {
  token left = 0;
  const auto text = found->lease.value_or(std::string());
  if (std::from_chars(text.data(), text.data() + text.size(), left).ec != std::errc()) left = 0;
  return std::max(clock_token(), left) + 1;
}

reading read_record(const record_id& id, std::optional<item> found, const act_context& context) {
  reading out;
  out.now = context.time.now();
  if (!found) return out;
  auto decoded = decode_item(*found);
  if (decoded) {
    out.since = context.seen.note(id, *decoded, found->observed, out.now.lease);
    decoded->record = dated(std::move(decoded->record), out.since);
    out.stored = std::move(*decoded);
  } else {
    out.unreadable = decoded.error();
  }
  out.found = std::move(found);
  return out;
}

record_view view_of(const record_id& id, const stored_record& stored, const instant& now,
                    const act_context& context) {
  auto out = make_view(id, stored.record, now, context.time.ahead(now));
  if (out.retention_left.count() != 0) {  // 0: it never expires
    out.retention_left = std::max(out.retention_left - context.retention_margin, milliseconds(1));
    out.stored.expires_at_wall -= context.retention_margin.count();
  }
  // The deadline is by the clock of this process alone.
  if (out.revision) out.revision = static_cast<std::int64_t>(stored.writes);
  if (stored.pieces.count > 0) out.body_size = stored.body_size;
  return out;
}

result<answer_ptr> join_pieces(const piece_set& set,
                               const std::vector<std::optional<std::string>>& pieces) {
  std::string whole;
  for (const auto& each : pieces) {
    if (!each) return unreadable("a piece of its answer is missing");
    whole += *each;
  }
  if (whole.size() != set.size || base::checksum_of(whole) != set.checksum) {
    return unreadable("the pieces of its answer do not belong together, or are damaged");
  }
  return decode_answer(whole);
}

}  // namespace onceguard::dynamodb
