#include "store/sqlite/transaction.hpp"

#include <algorithm>

#include "store/imported_record.hpp"
#include "store/record_errors.hpp"

namespace onceguard::sqlite {
namespace {

const record* known(const std::optional<stored_row>& row) noexcept {
  return row ? &row->seen.stored : nullptr;
}

}  // namespace

std::optional<result<verdict>> reading_pass::apply(const claim& request,
                                                   const encoded_parts& parts) {
  if (!request.about) return subject_missing();
  const auto found = table_.load(request.id, moment_, parts);
  if (!found) return found.error();
  // Any token does: what would be written is dropped.
  auto decided = decide(known(*found), request, moment_.now, 1);
  const auto kind = decided.verdict.kind;
  const bool is_last_word = kind == verdict_kind::replay || kind == verdict_kind::mismatch;
  if (decided.write || !is_last_word) return std::nullopt;
  return std::move(decided.verdict);
}

transaction::transaction(metadata_table& metadata, record_table& table, token token_floor,
                         damaged_records* damaged)
    : metadata_(metadata),
      table_(table),
      token_floor_(token_floor),
      changes_before_(metadata.changes()),
      damaged_(damaged),
      moment_(metadata.update_clocks()) {}

result<std::optional<stored_row>> transaction::load(const record_id& id,
                                                    const encoded_parts& parts) {
  auto found = load_unnoted(id, parts);
  if (!found) table_.note_unreadable(id);
  return found;
}

result<std::optional<stored_row>> transaction::load_unnoted(const record_id& id,
                                                            const encoded_parts& parts) {
  const auto* why = damaged_ == nullptr ? nullptr : damaged_->find(id);
  if (why == nullptr) return table_.load(id, moment_, parts);
  auto replaced = table_.load_replacement(id, moment_, parts);
  if (replaced && !*replaced) return *why;
  return replaced;
}

meta& transaction::counters() {
  if (!meta_) {
    stored_ = metadata_.read_meta();
    meta_ = stored_;
    meta_->last_token = std::max(stored_.last_token, token_floor_);
  }
  return *meta_;
}

void transaction::write(const record_id& id, const std::optional<stored_row>& old,
                        const record& stored, const encoded_parts& parts) {
  ++writes_;  // before the write, so that a failed one counts
  if (old) {
    table_.update(old->number, stored, moment_.boot, parts);
  } else {
    table_.insert(id, stored, moment_.boot, parts);
  }
}

result<verdict> transaction::apply(const claim& request, const encoded_parts& parts) {
  if (!request.about) return subject_missing();
  const auto found = load(request.id, parts);
  if (!found) return found.error();
  auto decided = decide(known(*found), request, moment_.now, counters().last_token + 1);
  if (decided.write) {
    write(request.id, *found, *decided.write, parts);
    counters().last_token = std::max(counters().last_token, decided.write->token);
    ++counters().granted;
  }
  return std::move(decided.verdict);
}

result<settled> transaction::apply(const settlement& request, const encoded_parts& parts) {
  const auto found = load(request.id, parts);
  if (!found) return found.error();
  auto decided = decide_settle(known(*found), request, moment_.now);
  if (decided.write) {
    if (!decided.write->about) return subject_missing();
    write(request.id, *found, *decided.write, parts);
  }
  return std::move(decided.result);
}

result<bool> transaction::apply(const extension& request, const encoded_parts& parts) {
  const auto found = load(request.id, parts);
  if (!found) return found.error();
  const auto decided = decide_extension(known(*found), request, moment_.now);
  if (decided.write) write(request.id, *found, *decided.write, parts);
  return !decided.stale;
}

result<resolve_decision> transaction::apply(const resolution& request, const encoded_parts& parts) {
  const auto found = load(request.id, parts);
  if (!found && request.force) return replace_unreadable(request);
  if (!found) return found.error();
  auto decided = decide_resolution(known(*found), request, moment_.now,
                                   *found ? std::optional((*found)->seen.revision) : std::nullopt);
  if (decided.write) write(request.id, *found, *decided.write, parts);
  if (decided.forgets_answer) ++counters().forgotten;
  return decided;
}

resolve_decision transaction::replace_unreadable(const resolution& request) {
  auto decided = resolve_unreadable(request, moment_.now, counters().last_token + 1);
  if (!decided.write) return decided;
  ++writes_;
  const bool on_damaged_page = damaged_ != nullptr && damaged_->find(request.id) != nullptr;
  table_.replace(request.id, *decided.write, moment_.boot, on_damaged_page);
  counters().last_token = decided.write->token;
  ++counters().forgotten;
  return decided;
}

result<import_outcome> transaction::apply(const imported_record& request,
                                          const encoded_parts& parts) {
  if (!request.stored.about) return subject_missing();
  const auto found = load(request.id, parts);
  if (!found) return found.error();
  const auto decided = decide_import(known(*found), request, moment_.now);
  if (decided.write) {
    write(request.id, *found, *decided.write, parts);
    counters().last_token = token_above(counters().last_token, decided.write->token, moment_.now);
  }
  return decided.outcome;
}

std::size_t transaction::sweep(std::size_t most) {
  const auto gone = table_.remove_expired(moment_, most);
  table_.drop_notes();
  writes_ += gone;
  return gone;
}

void transaction::finish() {
  if (metadata_.changes() == changes_before_) return;
  if (counters().last_token == stored_.last_token) ++counters().last_token;
  metadata_.write_meta(*meta_);
  stored_ = *meta_;
}

}  // namespace onceguard::sqlite
