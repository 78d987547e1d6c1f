#include "store/postgres/wire.hpp"

#include <algorithm>
#include <limits>

#include "store/view.hpp"

namespace onceguard::postgres {
namespace {

enum problem : std::int64_t { no_problem = 0, locked = 1, record_unreadable = 2, no_subject = 3 };

constexpr int claim_columns = 18;
constexpr std::size_t row_overhead = 256;

void write_subject(row_array& array, const subject& about) {
  array.bytes(about.scope).bytes(about.scope_kind).bytes(about.key).bytes(about.method);
  array.bytes(about.path).bytes(about.route).bytes(about.print.method).bytes(about.print.value);
  array.int8(about.run_timeout.count());
}

void write_no_subject(row_array& array) {
  for (int i = 0; i < 8; ++i) array.null(type::bytes);
  array.null(type::int8);
}

/// A token above the range of bigint was never granted by this store.
std::int64_t as_bigint(token value) noexcept {
  constexpr auto most = static_cast<token>(std::numeric_limits<std::int64_t>::max());
  return value > most ? -1 : static_cast<std::int64_t>(value);
}

/// Calls `read(row)` for the row of each item, whatever their order.
template <class Outcome, class Read>
std::vector<reply<Outcome>> read_rows(const rows& rows, std::size_t items, int columns, Read read) {
  rows.expect_columns(columns);
  std::vector<reply<Outcome>> out(items);
  for (int row = 0; row < rows.size(); ++row) {
    const auto index = rows.integer(row, 0);
    if (index < 1 || index > static_cast<std::int64_t>(items)) {
      throw unexpected_answer("an answer to an item that was not sent");
    }
    auto& mine = out[static_cast<std::size_t>(index - 1)];
    switch (rows.integer(row, 1)) {
      case no_problem:
        mine.outcome.emplace(read(row));
        break;
      case locked:
        mine.what = reply<Outcome>::kind::locked;
        break;
      case record_unreadable:
        mine.outcome.emplace(unreadable());
        break;
      case no_subject:
        mine.what = reply<Outcome>::kind::needs_subject;
        break;
      default:
        throw unexpected_answer("a problem of an unknown kind");
    }
  }
  for (const auto& one : out) {
    if (one.what == reply<Outcome>::kind::answered && !one.outcome) {
      throw unexpected_answer("an item without its answer");
    }
  }
  return out;
}

template <class Enum>
Enum read_enum(const rows& rows, int row, int column) {
  return rows.null(row, column) ? Enum{} : static_cast<Enum>(rows.integer(row, column));
}

std::int64_t number_or_0(const rows& rows, int row, int column) {
  return rows.null(row, column) ? 0 : rows.integer(row, column);
}

lease read_lease(const rows& rows, int row, const claim& request) {
  lease out;
  out.token = static_cast<token>(rows.integer(row, 3));
  out.claim_id = request.claim_id;
  out.attempt = static_cast<std::uint32_t>(rows.integer(row, 4));
  out.probe = rows.boolean(row, 5);
  out.started = rows.boolean(row, 6);
  return out;
}

verdict read_verdict(const rows& rows, int row, const claim& request) {
  verdict out;
  const auto kind = rows.integer(row, 2);
  if (kind < 0 || kind >= static_cast<std::int64_t>(verdict_kinds)) {
    throw unexpected_answer("a verdict of an unknown kind");
  }
  out.kind = static_cast<verdict_kind>(kind);
  if (out.kind == verdict_kind::run) out.lease = read_lease(rows, row, request);
  if (out.kind == verdict_kind::replay) {
    out.answer = read_answer(rows, row, 7);
    out.kept = read_enum<answer_kept>(rows, row, 10);
  }
  out.retry_after = milliseconds(number_or_0(rows, row, 11));
  out.retention_left = milliseconds(number_or_0(rows, row, 12));
  out.since = milliseconds(number_or_0(rows, row, 13));
  out.why = read_enum<unknown_reason>(rows, row, 14);
  out.why_status = static_cast<std::uint16_t>(number_or_0(rows, row, 15));
  if (!rows.null(row, 16)) out.fingerprint_method = rows.bytes(row, 16);
  return out;
}

settled read_settled(const rows& rows, int row, const settlement& request) {
  settled out;
  const auto outcome = rows.integer(row, 2);
  if (outcome < 0 || outcome > 2) throw unexpected_answer("an outcome of an unknown kind");
  out.outcome = static_cast<settle_outcome>(outcome);
  if (!rows.null(row, 3)) out.state = read_enum<observed_state>(rows, row, 3);
  out.answer = read_answer(rows, row, 4);
  if (!rows.null(row, 7)) out.kept = read_enum<answer_kept>(rows, row, 7);
  if (out.outcome == settle_outcome::done && out.answer) {
    // The answer that the application had stored in its own transaction, unless it is the same
    // answer.
    if (request.answer && *request.answer == *out.answer) return {};
    out.state = observed_state::completed;
  }
  return out;
}

std::size_t size_of(const answer& answer) noexcept {
  std::size_t out = answer.body.size();
  for (const auto& [name, value] : answer.headers) out += name.size() + value.size();
  return out;
}

}  // namespace

void add_expected(parameters& parameters, const known_generation& expected) {
  if (expected.identity.empty()) {
    parameters.null().null();
  } else {
    parameters.bytes(expected.identity).int8(static_cast<std::int64_t>(expected.number));
  }
}

header_list read_headers(const rows& rows, int row, int column) {
  auto flat = rows.byte_array(row, column);
  if (flat.size() % 2 != 0) throw unexpected_answer("a header without its value");
  header_list out;
  out.reserve(flat.size() / 2);
  for (std::size_t i = 0; i < flat.size(); i += 2) {
    out.emplace_back(std::move(flat[i]), std::move(flat[i + 1]));
  }
  return out;
}

answer_ptr read_answer(const rows& rows, int row, int column) {
  if (rows.null(row, column)) return nullptr;
  auto out = std::make_shared<answer>();
  out->status = static_cast<std::uint16_t>(rows.integer(row, column));
  out->headers = read_headers(rows, row, column + 1);
  out->body = rows.bytes(row, column + 2);
  return out;
}

error unreadable() {
  return error(errc::record_unreadable,
               "stored record: corrupt, or written by a newer version of onceguard");
}

// --- claims ---------------------------------------------------------------------------------

std::optional<error> claims::complaint(const item& item) {
  return item.about ? std::nullopt : std::optional(subject_missing());
}

std::size_t claims::weight(const item& item) noexcept {
  return row_overhead + item.about->key.size() + item.about->path.size();
}

parameters claims::encode(const std::vector<parcel<item>>& items,
                          const batch_surroundings& surroundings) {
  row_array out(surroundings.to.claim_item, 17);
  for (const auto& [one, with_subject] : items) {
    out.row().bytes(one->id).bytes(one->claim_id);
    write_subject(out, *one->about);
    out.int8(one->lease.count()).boolean(one->into_started);
    out.int2(static_cast<std::int64_t>(one->unknown));
    out.int8(one->probe_after.count()).int8(one->unknown_retention.count());
    out.boolean(one->maybe_repeated);
  }
  parameters all;
  all.whole(out.finish()).boolean(surroundings.expiry_paused);
  add_expected(all, surroundings.expected);
  return all;
}

std::vector<reply<verdict>> claims::decode(const rows& rows,
                                           const std::vector<parcel<item>>& items) {
  return read_rows<verdict>(rows, items.size(), claim_columns, [&](int row) {
    const auto index = static_cast<std::size_t>(rows.integer(row, 0) - 1);
    return read_verdict(rows, row, *items[index].item);
  });
}

std::vector<std::uint64_t> claims::generations_in(const rows& rows, std::size_t items) {
  std::vector<std::uint64_t> out(items);
  for (int row = 0; row < rows.size(); ++row) {
    const auto number = number_or_0(rows, row, claim_columns - 1);
    out.at(static_cast<std::size_t>(rows.integer(row, 0) - 1)) = static_cast<std::uint64_t>(number);
  }
  return out;
}

verdict claims::locked() {
  verdict out;
  out.kind = verdict_kind::busy;
  out.retry_after = milliseconds(50);
  return out;
}

bool claims::alike(const item& first, const item& second) noexcept {
  return first.claim_id != second.claim_id && first.about->print == second.about->print &&
         first.unknown == second.unknown && first.probe_after == second.probe_after;
}

std::optional<verdict> claims::verdict_of_joined(const item& first, const outcome& outcome,
                                                 const item& second) {
  if (!alike(first, second)) return std::nullopt;
  switch (outcome.kind) {
    case verdict_kind::run: {
      verdict out;
      out.kind = verdict_kind::busy;
      out.retry_after = first.lease;
      return out;
    }
    case verdict_kind::refused:  // only the first's claim id was
      return std::nullopt;
    default:
      return outcome;
  }
}

// --- settles --------------------------------------------------------------------------------

std::optional<error> settles::complaint(const item&) { return std::nullopt; }

std::size_t settles::weight(const item& item) noexcept {
  return row_overhead + (item.answer ? size_of(*item.answer) : 0);
}

parameters settles::encode(const std::vector<parcel<item>>& items,
                           const batch_surroundings& surroundings) {
  row_array out(surroundings.to.settle_item, 24);
  for (const auto& [one, with_subject] : items) {
    out.row().bytes(one->id).int8(as_bigint(one->token)).bytes(one->claim_id);
    out.int2(static_cast<std::int64_t>(one->kind)).answered(one->answer.get());
    out.int2(static_cast<std::int64_t>(one->kept));
    out.int8(one->retention.count()).int8(one->backoff.count()).int8(one->backoff_max.count());
    out.int2(static_cast<std::int64_t>(one->why)).int2(one->why_status);
    out.int8(one->probe_pause.count());
    // The release of a claim that has not arrived yet is recorded, which takes the subject. Other
    // settles need the subject only if the record is gone, and are repeated with the subject then.
    const bool send = with_subject || one->kind == settle_kind::release;
    if (send && one->about) {
      write_subject(out, *one->about);
    } else {
      write_no_subject(out);
    }
    out.boolean(one->by_application);
  }
  parameters all;
  all.whole(out.finish()).boolean(surroundings.expiry_paused);
  return all;
}

std::vector<reply<settled>> settles::decode(const rows& rows,
                                            const std::vector<parcel<item>>& items) {
  return read_rows<settled>(rows, items.size(), 8, [&](int row) {
    const auto index = static_cast<std::size_t>(rows.integer(row, 0) - 1);
    return read_settled(rows, row, *items[index].item);
  });
}

// --- extensions -----------------------------------------------------------------------------

std::optional<error> extensions::complaint(const item&) { return std::nullopt; }

std::size_t extensions::weight(const item&) noexcept { return row_overhead; }

parameters extensions::encode(const std::vector<parcel<item>>& items,
                              const batch_surroundings& surroundings) {
  row_array out(surroundings.to.extend_item, 5);
  for (const auto& [one, with_subject] : items) {
    out.row().bytes(one->id).int8(as_bigint(one->token)).bytes(one->claim_id);
    out.int8(one->lease.count()).boolean(one->dispatch);
  }
  parameters all;
  all.whole(out.finish());
  return all;
}

std::vector<reply<bool>> extensions::decode(const rows& rows,
                                            const std::vector<parcel<item>>& items) {
  return read_rows<bool>(rows, items.size(), 3, [&](int row) { return rows.boolean(row, 2); });
}

}  // namespace onceguard::postgres
