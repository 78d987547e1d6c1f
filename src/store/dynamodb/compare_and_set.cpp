#include "store/dynamodb/compare_and_set.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/random.hpp"
#include "core/record_codec.hpp"
#include "store/dynamodb/scan/table_scan.hpp"

namespace onceguard::dynamodb {
namespace {

/// So much later than here a record expires in the table: clocks are apart, and tokens must grow.
constexpr std::int64_t ttl_margin_s = 3'600;
/// With its other attributes, below the limit of an item.
constexpr std::size_t largest_piece = 350'000;
/// A batch has 16 MB at most, and a hundred items.
constexpr std::size_t pieces_at_once = 40;

std::optional<std::int64_t> ttl_of(const record& stored, const instant& now) {
  if (stored.expires_at_wall == 0) return std::nullopt;
  return std::max(stored.expires_at_wall, now.wall) / 1'000 + 1 + ttl_margin_s;
}

std::string random_piece_set() {
  std::array<unsigned char, 16> bytes{};
  base::random_bytes(bytes);
  return base::to_hex(bytes);
}

std::uint64_t random_write_name() {
  std::array<unsigned char, 8> bytes{};
  base::random_bytes(bytes);
  std::uint64_t out = 0;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

}  // namespace

// --- reading --------------------------------------------------------------------------------

std::optional<request> act::read_again() {
  stage_ = stage::reading;
  return get_item(context_.table, key_of(id_));
}

std::optional<request> act::take(request done) {
  if (done.failed) {
    // What was read or placed changed no record.
    if (stage_ != stage::writing) done.failed->effect = effect::none;
    return fail(*std::move(done.failed));
  }
  switch (stage_) {
    case stage::gathering:
      return take_pieces(done);
    case stage::placing:
      ++placed_;
      return put_next();
    case stage::writing:
      if (!done.condition_failed) {
        has_written_ = true;
        context_.seen.note(id_, pending_, 0, decided_at_.lease);
        return written();
      }
      doubtful_ = done.doubtful;
      break;
    case stage::reading:
      break;
  }
  auto found = read_item(done.answer);
  if (!found) return fail(found.error());
  // A server that does not send what stands in the way is asked for it.
  if (stage_ == stage::writing && !*found) return read_again();
  return meet(*std::move(found));
}

/// A write of unknown effect is sent again, and then meets itself. Without such a doubt the same
/// bytes are of another act, which came to the same within the same millisecond.
std::optional<request> act::meet(std::optional<item> found) {
  if (found && doubtful_ && !pending_item_.lease.empty() && found->lease == pending_item_.lease &&
      found->record == pending_item_.payload) {
    has_written_ = true;
    context_.seen.note(id_, pending_, 0, decided_at_.lease);
    return written();
  }
  return decide_next(read_record(id_, std::move(found), context_));
}

std::optional<request> act::decide_next(reading seen) {
  if (seen.unreadable) {
    if (seen.found->open.empty()) to_note_ = seen.found;
    return meet_unreadable(seen);
  }
  if (seen.stored && seen.stored->pieces.count > 0 && needs_answer_) {
    return gather(std::move(seen));
  }
  return decide_on(seen);
}

// --- pieces ---------------------------------------------------------------------------------

std::optional<request> act::gather(reading seen) {
  constexpr std::uint64_t most = 10'000;  // of what a trailer with a right checksum may say
  if (seen.stored->pieces.count > most) {
    seen.unreadable = error(errc::record_unreadable, "stored record: it has too many pieces");
    return decide_next(std::move(seen));
  }
  incomplete_ = std::move(seen);
  pieces_.assign(incomplete_.stored->pieces.count, std::nullopt);
  stage_ = stage::gathering;
  return ask_for_pieces();
}

request act::ask_for_pieces() {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < pieces_.size() && keys.size() < pieces_at_once; ++i) {
    if (!pieces_[i]) keys.push_back(piece_key(id_, incomplete_.stored->pieces.name, i + 1));
  }
  return get_items(context_.table, keys);
}

std::optional<request> act::take_pieces(const request& done) {
  const auto page = read_batch(done.answer, context_.table);
  if (!page) return fail(page.error());
  const auto set = incomplete_.stored->pieces;
  bool got = false;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto key = piece_key(id_, set.name, i + 1);
    const auto found = std::find_if(page->items.begin(), page->items.end(),
                                    [&](const item& each) { return each.id == key; });
    if (pieces_[i] || found == page->items.end()) continue;
    pieces_[i] = found->piece.value_or(std::string());
    got = true;
  }
  const bool whole = std::all_of(pieces_.begin(), pieces_.end(),
                                 [](const auto& each) { return each.has_value(); });
  if (!whole && (got || !page->unserved.empty())) return ask_for_pieces();
  // They disappear with their record: then another record stands there by now, or none.
  if (!whole && incomplete_before_ != set) {
    incomplete_before_ = set;
    return read_again();
  }
  auto joined = join_pieces(set, pieces_);
  auto seen = std::move(incomplete_);
  seen.now = context_.time.now();
  if (!joined) {
    seen.stored.reset();
    seen.unreadable = joined.error();
    return decide_next(std::move(seen));
  }
  seen.stored->record.answer = *std::move(joined);
  return decide_on(seen);
}

/// The record gets its answer in pieces, which are placed before it.
void act::cut(record& stored) {
  pending_.pieces = {};
  if (!stored.answer) return;
  pending_.body_size = stored.answer->body.size();
  if (cut_answer_ != stored.answer) {
    auto whole = encode_answer(*stored.answer);
    if (whole.size() <= context_.piece_size) return;
    cut_answer_ = stored.answer;
    cut_ = {random_write_name(), 0, whole.size(), base::checksum_of(whole)};
    cut_texts_.clear();
    placed_ = 0;
    const auto size = std::max(context_.piece_size, std::min(whole.size() / 16, largest_piece));
    for (std::size_t begin = 0; begin < whole.size(); begin += size) {
      cut_texts_.push_back(whole.substr(begin, size));
    }
    cut_.count = cut_texts_.size();
  }
  pending_.pieces = cut_;
  stored.answer = nullptr;
}

std::optional<request> act::put_next() {
  doubtful_ = false;
  if (pending_.pieces.count > 0 && placed_ < cut_texts_.size()) {
    stage_ = stage::placing;
    return put_piece(context_.table, piece_key(id_, cut_.name, placed_ + 1), cut_texts_[placed_],
                     pending_item_.ttl);
  }
  stage_ = stage::writing;
  return counts_ ? put_and_count(context_.table, pending_item_, replaced_, random_piece_set())
                 : put_record(context_.table, pending_item_, replaced_);
}

// --- writing --------------------------------------------------------------------------------

std::optional<request> act::decide_on_held(token token, const claim_id& claim_id) {
  auto held = context_.leases.take(id_, token, claim_id);
  if (!held) return read_again();
  reading seen;
  seen.found = std::move(held->written);
  seen.stored = std::move(held->stored);
  seen.now = context_.time.now();
  // Without a record nothing may be written, and then nothing would show that another stands there.
  if (seen.former() == nullptr) return read_again();
  return decide_on(seen);
}

std::optional<request> act::replace(const reading& seen, record stored, write_cause why) {
  const bool continues = seen.former() != nullptr;
  decided_at_ = seen.now;
  replaced_ = seen.found;
  counts_ = why == write_cause::forget;
  pending_ = {};
  pending_.record = stored;
  pending_.first = continues ? seen.stored->first : context_.time.next_first(seen.now);
  // A late settle may rebuild the record of an earlier lease, whose first writes others have seen.
  const auto beyond_earlier = why == write_cause::claim ? 1 : pending_.first;
  pending_.writes = seen.stored ? seen.stored->writes + 1 : beyond_earlier;
  cut(pending_.record);
  auto bytes = pending_;
  bytes.record = undated(std::move(bytes.record), seen.now);
  pending_item_ = {id_,
                   text_of(pending_.mark()),
                   encode_payload(bytes),
                   pending_.first,
                   is_unsettled(stored) ? running_part(part_of(id_)) : std::string(),
                   ttl_of(stored, seen.now)};
  return put_next();
}

void act::hold() {
  item written;
  written.id = key_of(id_);
  written.lease = pending_item_.lease;
  written.record = pending_item_.payload;
  context_.leases.put(id_, {pending_, std::move(written)});
}

std::optional<request> find_act::decide_on(const reading& seen) {
  std::optional<record_view> out;
  if (seen.former() != nullptr) out = view_of(id_, *seen.stored, seen.now, context_);
  return end(std::move(out));
}

}  // namespace onceguard::dynamodb
