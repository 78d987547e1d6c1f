#include "store/postgres/queries/record_row.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "core/record_codec.hpp"

namespace onceguard::postgres {
namespace {

constexpr std::size_t seal_size = 8;
constexpr std::string_view subject_head{"\x01s", 2};  // the format, and which part it is
constexpr std::string_view outcome_head{"\x01o", 2};
constexpr std::int64_t us_per_ms = 1'000;

enum column : int {
  digest,
  version,
  now,
  claim_id_of_lease,
  token_of_lease,
  deadline_at,
  expires_at,
  state,
  flags,
  why,
  why_status,
  attempt,
  failures,
  unknown_retention,
  first_token,
  claimed_at,
  retry_at,
  subject_sealed,
  outcome_sealed,
  step,
  progress,
  outcome_size,
};

std::string_view seal_of(const record_id& id, const claim_id& lease, std::string_view content,
                         std::array<unsigned char, 32>& made) {
  base::sha256 hash;
  // With id and lease: a part that stands in another row, or was left of an earlier lease, does not
  // pass for this one's.
  hash.raw(base::as_chars(id)).raw(base::as_chars(lease)).raw(content);
  made = hash.finish();
  return base::as_chars(made).substr(0, seal_size);
}

std::string seal(const record_id& id, const claim_id& lease, std::string content) {
  std::array<unsigned char, 32> made{};
  const auto sum = seal_of(id, lease, content, made);
  return content.append(sum);
}

error unreadable(const std::string& why) {
  return error(errc::record_unreadable, "stored record: " + why);
}

/// The content behind the head of a part.
result<std::string_view> open_part(const record_id& id, const claim_id& lease,
                                   std::string_view part, std::string_view head) {
  if (part.size() < head.size() + seal_size) return unreadable("it is cut short");
  const auto content = part.substr(0, part.size() - seal_size);
  std::array<unsigned char, 32> made{};
  if (seal_of(id, lease, content, made) != part.substr(content.size())) {
    return unreadable("its checksum is wrong: it is damaged or cut short");
  }
  if (!content.starts_with(head)) return unreadable("written by a newer version of onceguard");
  return content.substr(head.size());
}

std::optional<record_state> state_named(std::string_view name) noexcept {
  for (const auto each : {record_state::started, record_state::in_progress, record_state::probing,
                          record_state::completed, record_state::failed, record_state::released}) {
    if (name_of(each) == name) return each;
  }
  return std::nullopt;
}

bool settled(record_state state) noexcept { return state >= record_state::completed; }

std::optional<error> read_outcome(const record_id& id, std::string_view part, record& out) {
  auto content = open_part(id, out.claim_id, part, outcome_head);
  if (!content) return content.error();
  if (content->empty() || static_cast<unsigned char>(content->front()) >
                              static_cast<unsigned char>(answer_kept::none)) {
    return unreadable("its fields do not fit together");
  }
  out.kept = static_cast<answer_kept>(content->front());
  content->remove_prefix(1);
  if (content->empty()) return std::nullopt;
  auto decoded = decode_answer(*content);
  if (!decoded) return decoded.error();
  out.answer = std::move(*decoded);
  return std::nullopt;
}

void read_columns(const rows& rows, int row, record& out) {
  out.token = static_cast<token>(rows.integer(row, token_of_lease));
  out.deadline_lease = rows.integer(row, deadline_at);
  out.expires_at_wall = rows.integer(row, expires_at);
  if (settled(out.state)) out.settled_at_wall = out.deadline_lease;
  if (out.state == record_state::released) out.deadline_lease = 0;
  const auto bits = rows.integer(row, flags);
  out.by_operator = (bits & row_flag::by_operator) != 0;
  out.incident = (bits & row_flag::incident) != 0;
  out.maybe_repeated = (bits & row_flag::maybe_repeated) != 0;
  out.earlier_unknown = (bits & row_flag::earlier_unknown) != 0;
  out.by_application = (bits & row_flag::by_application) != 0;
  out.why = static_cast<unknown_reason>(rows.integer(row, why));
  out.why_status = static_cast<std::uint16_t>(rows.integer(row, why_status));
  out.attempt =
      rows.null(row, attempt) ? 1 : static_cast<std::uint32_t>(rows.integer(row, attempt));
  out.failures = static_cast<std::uint32_t>(rows.integer(row, failures));
  out.unknown_retention_ms = rows.integer(row, unknown_retention);
  out.claimed_at_wall = rows.null(row, claimed_at)
                            ? static_cast<std::int64_t>(out.token) / us_per_ms
                            : rows.integer(row, claimed_at);
  out.retry_at_lease = rows.integer(row, retry_at);
  out.kept = answer_kept::none;
}

result<record> read_record(const rows& rows, int row, bool with_outcome) {
  const auto id = id_in(rows, row);
  record out;
  const auto found = state_named(rows.bytes(row, state));
  if (!found || rows.bytes(row, digest).size() != id.size() ||
      rows.bytes(row, claim_id_of_lease).size() != out.claim_id.size()) {
    return unreadable("its columns do not fit together");
  }
  out.state = *found;
  out.claim_id = rows.fixed<claim_id>(row, claim_id_of_lease);
  read_columns(rows, row, out);
  const auto content = open_part(id, out.claim_id, rows.bytes(row, subject_sealed), subject_head);
  if (!content) return content.error();
  auto about = decode_subject(*content);
  if (!about) return about.error();
  out.about = std::move(*about);
  if (!with_outcome || rows.null(row, outcome_sealed)) return out;
  if (auto wrong = read_outcome(id, rows.bytes(row, outcome_sealed), out)) return std::move(*wrong);
  return out;
}

std::int64_t flags_of(const record& r) noexcept {
  return (r.by_operator ? row_flag::by_operator : 0) | (r.incident ? row_flag::incident : 0) |
         (r.maybe_repeated ? row_flag::maybe_repeated : 0) |
         (r.earlier_unknown ? row_flag::earlier_unknown : 0) |
         (r.by_application ? row_flag::by_application : 0);
}

}  // namespace

std::string sealed_subject(const record_id& id, const claim_id& lease, const subject& about) {
  return seal(id, lease, std::string(subject_head).append(encode_subject(about)));
}

std::string sealed_outcome(const record_id& id, const claim_id& lease, answer_kept kept,
                           const answer* stored_answer) {
  std::string content(outcome_head);
  content += static_cast<char>(kept);
  if (stored_answer != nullptr) content += encode_answer(*stored_answer);
  return seal(id, lease, std::move(content));
}

record_id id_in(const rows& rows, int row) {
  const auto source = rows.bytes(row, digest);
  record_id out{};
  std::copy_n(source.begin(), std::min(source.size(), out.size()), out.begin());
  return out;
}

std::int64_t first_in(const rows& rows, int row) {
  return rows.integer(row, rows.null(row, first_token) ? token_of_lease : first_token);
}

reading read_row(const rows& rows, int row) {
  reading out;
  out.now = rows.integer(row, now);
  if (rows.null(row, version)) return out;
  out.version = rows.bytes(row, version);
  out.token = static_cast<token>(rows.integer(row, token_of_lease));
  out.cut = rows.null(row, outcome_sealed) && !rows.null(row, outcome_size);
  auto decoded = read_record(rows, row, !out.cut);
  if (!decoded) {
    out.unreadable = decoded.error();
    return out;
  }
  auto& found = out.found.emplace();
  found.record = std::move(*decoded);
  found.first = static_cast<token>(first_in(rows, row));
  if (!rows.null(row, step)) {
    found.recovery.emplace();
    found.recovery->step = rows.bytes(row, step);
    found.recovery->progress = rows.bytes(row, progress);
  }
  return out;
}

std::optional<granted_row> read_grant(const rows& rows, int row) {
  if (!rows.null(row, version)) return std::nullopt;
  granted_row out;
  out.claim_id = rows.fixed<claim_id>(row, claim_id_of_lease);
  out.token = static_cast<token>(rows.integer(row, token_of_lease));
  out.leases = rows.integer(row, row_columns);
  return out;
}

void write_row(parameters& out, const record_id& id, const row_to_write& row) {
  const auto& r = row.record;
  const bool ended = settled(r.state);
  const bool keeps_outcome = r.state == record_state::completed;
  out.bytes(id).int8(lock_of(id));
  if (row.version.empty()) {
    out.null();
  } else {
    out.bytes(row.version);
  }
  out.bytes(r.claim_id).int8(static_cast<std::int64_t>(r.token));
  out.int8(ended ? r.settled_at_wall : r.deadline_lease).int8(r.expires_at_wall);
  out.bytes(name_of(r.state))
      .int2(flags_of(r))
      .int2(static_cast<std::int64_t>(r.why))
      .int2(r.why_status);
  out.int4(r.attempt).int4(r.failures).int8(r.unknown_retention_ms);
  out.int8_or_null(row.first == r.token && !row.grants ? 0 : static_cast<std::int64_t>(row.first));
  out.int8(r.claimed_at_wall).int8(r.retry_at_lease);
  out.bytes(sealed_subject(id, r.claim_id, *r.about));
  if (keeps_outcome) {
    out.bytes(sealed_outcome(id, r.claim_id, r.kept, r.answer.get()));
  } else {
    out.null();
  }
  if (row.retention) {
    out.int8(row.retention->count());
  } else {
    out.null();
  }
  out.boolean(row.drops_steps || row.recovery);
  if (row.recovery) {
    out.bytes(row.recovery->step).bytes(row.recovery->progress);
  } else {
    out.null().null();
  }
}

std::int64_t lock_of(const record_id& id) noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof out; ++i) out = out << 8 | id[i];
  return static_cast<std::int64_t>(out);
}

}  // namespace onceguard::postgres
