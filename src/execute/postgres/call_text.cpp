#include "execute/postgres/call_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <span>

#include "base/hash.hpp"
#include "execute/request.hpp"

namespace onceguard::postgres {
namespace {

constexpr auto select_claim =
    "SELECT (c.told).problem, (c.told).verdict, (c.told).token, (c.told).attempt,"
    " (c.told).status,"
    " (SELECT string_agg(encode(h.part, 'hex'), ',' ORDER BY h.number)"
    " FROM unnest((c.told).headers) WITH ORDINALITY h(part, number)),"
    " encode((c.told).body, 'hex'), (c.told).kept, (c.told).retry_after,"
    " (c.told).retention_left, (c.told).since, (c.told).why, (c.told).why_status,"
    " encode(c.progress, 'hex')"
    " FROM onceguard.claim_to_execute(ROW(";

enum column : std::size_t {
  at_problem,
  at_verdict,
  at_token,
  at_attempt,
  at_status,
  at_headers,
  at_body,
  at_kept,
  at_retry_after,
  at_retention_left,
  at_since,
  at_why,
  at_why_status,
  at_progress,
  columns
};

std::string hex(std::string_view bytes) {
  return base::to_hex(
      std::span(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::string bytes(std::string_view text) { return "decode('" + hex(text) + "','hex')"; }
std::string bytes(std::span<const unsigned char> buffer) { return bytes(base::as_chars(buffer)); }
std::string number(milliseconds duration) { return std::to_string(duration.count()); }

std::string lease_text(const record_id& id, const lease& held) {
  std::string token(16, '0');
  const auto low = [&](std::size_t digit) { return (held.token >> (4 * digit)) & 0xf; };
  for (std::size_t i = 0; i < token.size(); ++i) token[15 - i] = "0123456789abcdef"[low(i)];
  return "'OG1-" + base::to_hex(id) + '-' + token + '-' + base::to_hex(held.claim_id) + "'";
}

/// Milliseconds as an interval. Not as a multiple of an interval: that is inexact from 2^53 on.
std::string interval(milliseconds duration) {
  return "'" + number(duration) + " milliseconds'::interval";
}

[[noreturn]] void unexpected(const char* description) {
  throw statement_failed("42883", std::string("claim_to_execute: ") + description);
}

std::int64_t number_at(const sql_transaction::row& row, column column) {
  if (!row[column]) return 0;
  std::int64_t out = 0;
  const auto* end = row[column]->data() + row[column]->size();
  if (std::from_chars(row[column]->data(), end, out).ptr != end) unexpected("not a number");
  return out;
}

std::string unhex(std::string_view text) {
  std::string out(text.size() / 2, '\0');
  if (!base::from_hex(text, std::span(reinterpret_cast<unsigned char*>(out.data()), out.size()))) {
    unexpected("not in hex");
  }
  return out;
}

std::string bytes_at(const sql_transaction::row& row, column column) {
  return row[column] ? unhex(*row[column]) : std::string();
}

answer_ptr answer_of(const sql_transaction::row& row) {
  if (!row[at_status]) return nullptr;
  auto out = std::make_shared<answer>();
  out->status = static_cast<std::uint16_t>(number_at(row, at_status));
  out->body = bytes_at(row, at_body);
  if (!row[at_headers]) return out;
  std::string_view list = *row[at_headers];
  const auto next = [&] {
    const auto part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    return unhex(part);
  };
  // Names and values alternate. If a comma ends the list, the last value is empty.
  do {
    auto name = next();
    out->headers.emplace_back(std::move(name), next());
  } while (!list.empty());
  return out;
}

}  // namespace

std::string claim_text(const claim& request) {
  const auto& about = *request.about;
  std::string out = select_claim;
  const auto add = [&](const std::string& value) { out += value + ','; };
  add(bytes(request.id));
  add(bytes(request.claim_id));
  add(bytes(about.scope));
  for (const auto* part : {&about.scope_kind, &about.key, &about.method, &about.path, &about.route,
                           &about.print.method}) {
    add(bytes(std::string_view(*part)));
  }
  add(bytes(about.print.value));
  add(number(about.run_timeout));
  add(number(request.lease));
  add(request.into_started ? "true" : "false");
  add(std::to_string(static_cast<int>(request.unknown)));
  add(number(request.probe_after));
  add(number(request.unknown_retention));
  out += request.maybe_repeated ? "true" : "false";
  return out + ")::onceguard.claim_item) c";
}

claimed read_claimed(const sql_transaction::row& row, const claim& request) {
  if (row.size() != columns) unexpected("another number of columns");
  claimed out;
  const auto problem = number_at(row, at_problem);
  if (problem == 2) throw statement_failed("OG002", "the record of this key can not be read");
  if (problem == 1) {
    out.locked = true;
    out.verdict.kind = verdict_kind::busy;
    out.verdict.retry_after = retry_after_lock;
    return out;
  }
  const auto kind = number_at(row, at_verdict);
  if (kind < 0 || kind >= static_cast<std::int64_t>(verdict_kinds)) unexpected("a new verdict");
  out.verdict.kind = static_cast<verdict_kind>(kind);
  if (out.verdict.kind == verdict_kind::run) {
    out.verdict.lease.token = static_cast<token>(number_at(row, at_token));
    out.verdict.lease.claim_id = request.claim_id;
    out.verdict.lease.attempt = static_cast<std::uint32_t>(number_at(row, at_attempt));
    out.progress = bytes_at(row, at_progress);
  }
  out.verdict.answer = answer_of(row);
  if (row[at_kept]) out.verdict.kept = static_cast<answer_kept>(number_at(row, at_kept));
  out.verdict.retry_after = milliseconds(number_at(row, at_retry_after));
  out.verdict.retention_left = milliseconds(number_at(row, at_retention_left));
  out.verdict.since = milliseconds(number_at(row, at_since));
  out.verdict.why = static_cast<unknown_reason>(number_at(row, at_why));
  out.verdict.why_status = static_cast<std::uint16_t>(number_at(row, at_why_status));
  out.verdict = as_reported(std::move(out.verdict));
  return out;
}

std::string wait_text(const record_id& id, milliseconds at_most) {
  return "SELECT onceguard.wait_for_record(" + bytes(id) + ',' + number(at_most) + ')';
}

std::string complete_text(const record_id& id, const lease& held, const answer& answer,
                          milliseconds retention) {
  std::string headers;
  for (const auto& [name, value] : answer.headers) {
    for (const auto* part : {&name, &value}) {
      if (!headers.empty()) headers += ',';
      headers += bytes(std::string_view(*part));
    }
  }
  return "SELECT onceguard.complete_now(" + lease_text(id, held) + ',' +
         std::to_string(answer.status) + ",ARRAY[" + headers + "]::bytea[]," +
         bytes(std::string_view(answer.body)) + ',' + interval(retention) + ')';
}

std::string progress_text(const record_id& id, const lease& held, std::string_view step,
                          std::string_view progress, milliseconds lease_length) {
  return "SELECT onceguard.save_progress(" + lease_text(id, held) + ",convert_from(" + bytes(step) +
         ",'UTF8')," + bytes(progress) + ',' + interval(lease_length) + ')';
}

std::string abandon_text(const record_id& id, const lease& held) {
  return "SELECT onceguard.abandon(" + lease_text(id, held) + ')';
}

}  // namespace onceguard::postgres
