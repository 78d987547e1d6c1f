#include "execute/postgres/sql_calls.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "base/for_ever.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/number_in.hpp"
#include "core/record_codec.hpp"
#include "execute/request.hpp"
#include "store/sealed/sealed_answer.hpp"

namespace onceguard::postgres {
namespace {

constexpr auto select_claim =
    "SELECT verdict, token, attempt, encode(outcome, 'hex'), retry_after, retention_left, since,"
    " why, why_status, encode(progress, 'hex') FROM ";

enum column : std::size_t {
  at_verdict,
  at_token,
  at_attempt,
  at_outcome,
  at_retry_after,
  at_retention_left,
  at_since,
  at_why,
  at_why_status,
  at_progress,
  columns
};

std::string sql_hex(std::string_view bytes) {
  return base::to_hex(
      std::span(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::string sql_bytes(std::string_view text) { return "decode('" + sql_hex(text) + "','hex')"; }
std::string sql_bytes(std::span<const unsigned char> buffer) {
  return sql_bytes(base::as_chars(buffer));
}
std::string sql_number(milliseconds duration) {
  return std::to_string(base::bounded(duration).count());
}

std::string lease_text(const record_id& id, const lease& held) {
  std::string token(16, '0');
  const auto low = [&](std::size_t digit) { return (held.token >> (4 * digit)) & 0xf; };
  for (std::size_t i = 0; i < token.size(); ++i) token[15 - i] = "0123456789abcdef"[low(i)];
  return "'OG1-" + base::to_hex(id) + '-' + token + '-' + base::to_hex(held.claim_id) + "'";
}

/// Milliseconds as an interval. Not as a multiple of an interval: that is inexact from 2^53 on.
std::string sql_interval(milliseconds duration) {
  return "'" + sql_number(duration) + " milliseconds'::interval";
}

[[noreturn]] void throw_unexpected_reply(const char* description) {
  throw statement_failed("42883", std::string("claim_now: ") + description);
}

std::int64_t number_in_column(const sql_transaction::row& row, column column) {
  if (!row[column]) return 0;
  const auto out = base::number_in<std::int64_t>(*row[column]);
  if (!out) throw_unexpected_reply("not a number");
  return *out;
}

std::string bytes_of_hex(std::string_view text) {
  std::string out(text.size() / 2, '\0');
  if (!base::from_hex(text, std::span(reinterpret_cast<unsigned char*>(out.data()), out.size()))) {
    throw_unexpected_reply("not in hex");
  }
  return out;
}

std::string bytes_at(const sql_transaction::row& row, column column) {
  return row[column] ? bytes_of_hex(*row[column]) : std::string();
}

verdict_kind kind_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, verdict_kind>, 8> names{
      {{"run", verdict_kind::run},
       {"replay", verdict_kind::replay},
       {"busy", verdict_kind::busy},
       {"locked", verdict_kind::busy},
       {"mismatch", verdict_kind::mismatch},
       {"backoff", verdict_kind::backoff},
       {"unknown", verdict_kind::unknown},
       {"refused", verdict_kind::refused}}};
  const auto found = std::find_if(names.begin(), names.end(),
                                  [name](const auto& each) { return each.first == name; });
  if (found == names.end()) throw_unexpected_reply("a new verdict");
  return found->second;
}

/// The answer of a completed record, as SQL has checked it.
void read_outcome(const sql_transaction::row& row, verdict& out) {
  const auto outcome = bytes_at(row, at_outcome);
  constexpr std::size_t head = 3;  // format, part, what is kept
  constexpr std::size_t seal = 8;
  if (outcome.size() < head + seal) throw_unexpected_reply("an outcome that is cut short");
  out.kept = static_cast<answer_kept>(outcome[head - 1]);
  const auto content = std::string_view(outcome).substr(head, outcome.size() - head - seal);
  if (content.empty()) return;
  auto decoded = decode_answer(content);
  if (!decoded) throw_unexpected_reply("an answer that is none");
  // A schema of an earlier version does not look.
  if (sealed::is_sealed(**decoded)) {
    throw statement_failed("OG002", sealed::not_for_applications(**decoded).detail);
  }
  out.answer = std::move(*decoded);
}

std::string subject_text(const request& request) {
  return sql_bytes(std::string_view(request.scope_kind)) + ',' +
         sql_bytes(std::string_view(request.scope)) + ',' +
         sql_bytes(std::string_view(request.key));
}

std::string terms_text(const claim& wanted) {
  return sql_bytes(wanted.about->print.value) + ',' + sql_bytes(wanted.claim_id) + ',' +
         sql_number(wanted.lease) + "::bigint," + sql_number(wanted.retention) + "::bigint," +
         (wanted.unknown == unknown_policy::rerun ? "true" : "false");
}

std::string claim_call(const request& request, const claim& wanted) {
  return "onceguard.claim_now(" + subject_text(request) + ',' + terms_text(wanted) + ",false)";
}

}  // namespace

std::int32_t as_setting(milliseconds duration) noexcept {
  constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(duration.count(), 1, longest));
}

std::string claim_text(const request& request, const claim& wanted) {
  return select_claim + claim_call(request, wanted);
}

std::string claims_text(std::span<const request> requests, std::span<const claim> wanted) {
  std::string out = select_claim;
  out += "(VALUES ";
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i > 0) out += ',';
    out += '(' + std::to_string(i) + ',' + subject_text(requests[i]) + ',' + terms_text(wanted[i]) +
           ')';
  }
  return out +
         ") AS m(position, kind, scope, key, print, id, lease, retention, rerun)"
         " CROSS JOIN LATERAL onceguard.claim_now(m.kind, m.scope, m.key, m.print, m.id, m.lease,"
         " m.retention, m.rerun, false) ORDER BY m.position";
}

claimed read_claimed(const sql_transaction::row& row, const claim& wanted) {
  if (row.size() != columns || !row[at_verdict])
    throw_unexpected_reply("another number of columns");
  claimed out;
  out.verdict.kind = kind_of(*row[at_verdict]);
  out.locked = *row[at_verdict] == "locked";
  if (out.locked) out.verdict.retry_after = retry_after_lock;
  if (out.verdict.kind == verdict_kind::run) {
    out.verdict.lease.token = static_cast<token>(number_in_column(row, at_token));
    out.verdict.lease.claim_id = wanted.claim_id;
    out.verdict.lease.attempt = static_cast<std::uint32_t>(number_in_column(row, at_attempt));
    out.progress = bytes_at(row, at_progress);
  }
  if (out.verdict.kind == verdict_kind::replay) read_outcome(row, out.verdict);
  if (!out.locked) out.verdict.retry_after = milliseconds(number_in_column(row, at_retry_after));
  out.verdict.retention_left = milliseconds(number_in_column(row, at_retention_left));
  out.verdict.since = milliseconds(number_in_column(row, at_since));
  out.verdict.why = static_cast<unknown_reason>(number_in_column(row, at_why));
  out.verdict.why_status = static_cast<std::uint16_t>(number_in_column(row, at_why_status));
  return out;
}

std::string wait_text(const request& request, milliseconds at_most) {
  return "SELECT onceguard.wait_for_key(" + subject_text(request) + ',' +
         std::to_string(as_setting(at_most)) + ')';
}

std::string complete_text(const record_id& id, const lease& held, const answer& answer,
                          milliseconds retention) {
  std::string headers;
  for (const auto& [name, value] : answer.headers) {
    for (const auto* part : {&name, &value}) {
      if (!headers.empty()) headers += ',';
      headers += sql_bytes(std::string_view(*part));
    }
  }
  return "SELECT onceguard.complete_now(" + lease_text(id, held) + ',' +
         std::to_string(answer.status) + ",ARRAY[" + headers + "]::bytea[]," +
         sql_bytes(std::string_view(answer.body)) + ',' + sql_interval(retention) + ')';
}

std::string progress_text(const record_id& id, const lease& held, std::string_view step,
                          std::string_view progress, milliseconds lease_length) {
  return "SELECT onceguard.save_progress(" + lease_text(id, held) + ",convert_from(" +
         sql_bytes(step) + ",'UTF8')," + sql_bytes(progress) + ',' + sql_interval(lease_length) +
         ')';
}

std::string fail_text(const record_id& id, const lease& held, milliseconds backoff,
                      milliseconds backoff_max) {
  return "SELECT onceguard.fail(" + lease_text(id, held) + ',' + sql_interval(backoff) + ',' +
         sql_interval(backoff_max) + ')';
}

std::string abandon_text(const record_id& id, const lease& held) {
  return "SELECT onceguard.abandon(" + lease_text(id, held) + ')';
}

}  // namespace onceguard::postgres
