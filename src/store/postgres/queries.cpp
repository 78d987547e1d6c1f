#include "store/postgres/queries.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "store/postgres/wire.hpp"
#include "store/view.hpp"

namespace onceguard::postgres {
namespace {

constexpr std::int64_t unreadable_record = 2;

/// The columns of onceguard.found.
enum column : int {
  problem,
  now,
  observed,
  born,
  token_given,
  deadline_at,
  retry_at,
  claimed_at,
  settled_at,
  expires_at,
  unknown_retention,
  run_timeout,
  attempt,
  failures,
  state,
  why,
  why_status,
  kept,
  status,
  by_operator,
  by_application,
  incident,
  earlier_unknown,
  maybe_repeated,
  record_digest,
  claim_id,
  scope,
  scope_kind,
  key,
  method,
  path,
  route,
  print_method,
  print,
  headers,
  body,
  step,
  progress,
  columns,
};

subject_ptr read_subject(const rows& from, int row) {
  auto out = std::make_shared<subject>();
  out->scope = from.fixed<digest>(row, scope);
  out->scope_kind = from.bytes(row, scope_kind);
  out->key = from.bytes(row, key);
  out->method = from.bytes(row, method);
  out->path = from.bytes(row, path);
  out->route = from.bytes(row, route);
  out->print.method = from.bytes(row, print_method);
  out->print.value = from.fixed<digest>(row, print);
  out->run_timeout = milliseconds(from.integer(row, run_timeout));
  return out;
}

/// status, headers and body stand apart here.
answer_ptr read_found_answer(const rows& from, int row) {
  if (from.null(row, status)) return nullptr;
  auto out = std::make_shared<answer>();
  out->status = static_cast<std::uint16_t>(from.integer(row, status));
  out->headers = read_headers(from, row, headers);
  out->body = from.bytes(row, body);
  return out;
}

record read_record(const rows& from, int row) {
  record out;
  out.about = read_subject(from, row);
  out.state = static_cast<record_state>(from.integer(row, state));
  out.token = static_cast<token>(from.integer(row, token_given));
  out.claim_id = from.fixed<onceguard::claim_id>(row, claim_id);
  out.attempt = static_cast<std::uint32_t>(from.integer(row, attempt));
  out.deadline_lease = from.integer(row, deadline_at);
  out.retry_at_lease = from.integer(row, retry_at);
  out.claimed_at_wall = from.integer(row, claimed_at);
  out.settled_at_wall = from.integer(row, settled_at);
  out.expires_at_wall = from.integer(row, expires_at);
  out.unknown_retention_ms = from.integer(row, unknown_retention);
  out.why = static_cast<unknown_reason>(from.integer(row, why));
  out.why_status = static_cast<std::uint16_t>(from.integer(row, why_status));
  out.kept = static_cast<answer_kept>(from.integer(row, kept));
  out.answer = read_found_answer(from, row);
  out.failures = static_cast<std::uint32_t>(from.integer(row, failures));
  out.by_operator = from.boolean(row, by_operator);
  out.by_application = from.boolean(row, by_application);
  out.incident = from.boolean(row, incident);
  out.earlier_unknown = from.boolean(row, earlier_unknown);
  out.maybe_repeated = from.boolean(row, maybe_repeated);
  return out;
}

record_view read_view(const rows& from, int row) {
  instant at;
  at.lease = at.wall = from.integer(row, now);
  return make_view(from.fixed<record_id>(row, record_digest), read_record(from, row), at);
}

/// status, headers and body, or three nulls.
void add_answer(parameters& to, const answer_ptr& with) {
  if (with) {
    to.int2(with->status).whole(flat_headers(*with)).bytes(with->body);
  } else {
    to.null().null().null();
  }
}

void report_unreadable(const rows& from, int row, const std::string& name) {
  base::log(base::log_level::error, "a record can't be read",
            {{"store", name},
             {"record", base::to_hex(from.fixed<record_id>(row, record_digest))},
             {"why", unreadable().detail}});
}

}  // namespace

parameters ask_resolve(const resolution& how, bool expiry_paused) {
  parameters out;
  out.bytes(how.id).boolean(how.completed);
  add_answer(out, how.answer);
  out.boolean(how.force).int8(how.retention.count()).boolean(expiry_paused);
  return out;
}

std::optional<result<resolve_decision>> read_resolve(const rows& from) {
  from.expect_columns(4);
  if (from.size() != 1) throw unexpected_answer("a resolution without its answer");
  if (const auto wrong = from.integer(0, 0); wrong != 0) {
    if (wrong == unreadable_record) return result<resolve_decision>(unreadable());
    return std::nullopt;
  }
  resolve_decision out;
  out.outcome = static_cast<resolve_outcome>(from.integer(0, 1));
  out.retry_after = milliseconds(from.integer(0, 2));
  out.forgets_answer = from.boolean(0, 3);
  return result<resolve_decision>(std::move(out));
}

parameters ask_import(const imported_record& what, bool expiry_paused) {
  const auto& r = what.stored;
  const auto length = [](milliseconds of) { return std::max<std::int64_t>(of.count(), 0); };
  parameters out;
  out.bytes(what.id).int8(static_cast<std::int64_t>(r.token)).bytes(r.claim_id);
  out.int2(static_cast<std::int64_t>(r.state)).int4(r.attempt).int4(r.failures);
  out.int2(static_cast<std::int64_t>(r.why)).int2(r.why_status);
  out.int2(static_cast<std::int64_t>(r.kept));
  add_answer(out, r.answer);
  out.boolean(r.by_operator).boolean(r.by_application).boolean(r.incident);
  out.boolean(r.earlier_unknown).boolean(r.maybe_repeated);
  out.int8(length(what.lease_over)).int8(length(what.retry_after)).int8(length(what.claimed_ago));
  out.int8(length(what.settled_ago)).int8(length(what.retention_left));
  out.int8(r.unknown_retention_ms).int8(r.about->run_timeout.count());
  const auto& about = *r.about;
  out.bytes(about.scope).bytes(about.scope_kind).bytes(about.key).bytes(about.method);
  out.bytes(about.path).bytes(about.route).bytes(about.print.method).bytes(about.print.value);
  out.boolean(expiry_paused);
  return out;
}

std::optional<result<import_outcome>> read_import(const rows& from) {
  from.expect_columns(2);
  if (from.size() != 1) throw unexpected_answer("an adoption without its answer");
  if (const auto wrong = from.integer(0, 0); wrong != 0) {
    if (wrong == unreadable_record) return result<import_outcome>(unreadable());
    return std::nullopt;
  }
  return result<import_outcome>(static_cast<import_outcome>(from.integer(0, 1)));
}

parameters ask_find(const record_id& id, bool expiry_paused) {
  parameters out;
  out.bytes(id).boolean(expiry_paused);
  return out;
}

result<std::optional<record_view>> read_find(const rows& from) {
  from.expect_columns(columns);
  if (from.size() == 0) return std::optional<record_view>();
  if (from.integer(0, problem) != 0) return unreadable();
  return std::optional<record_view>(read_view(from, 0));
}

result<std::int64_t> read_cursor(const std::string& cursor) {
  std::int64_t out = 0;
  const auto* end = cursor.data() + cursor.size();
  const auto read = std::from_chars(cursor.data(), end, out);
  if (!cursor.empty() && (read.ptr != end || read.ec != std::errc())) {
    return error(errc::invalid_argument, "this cursor was not given by this store");
  }
  return out;
}

parameters ask_list(const list_filter& filter, std::int64_t after, std::size_t limit,
                    bool expiry_paused) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  parameters out;
  if (filter.state) {
    out.int2(static_cast<std::int64_t>(*filter.state));
  } else {
    out.null();
  }
  if (filter.key) {
    out.bytes(*filter.key);
  } else {
    out.null();
  }
  if (filter.scope) {
    out.bytes(*filter.scope);
  } else {
    out.null();
  }
  out.int8(after).int4(static_cast<std::int64_t>(std::min(limit, most))).boolean(expiry_paused);
  return out;
}

list_page read_list(const rows& from, const std::string& name) {
  from.expect_columns(columns);
  constexpr std::int64_t goes_on = 3;
  list_page out;
  for (int row = 0; row < from.size(); ++row) {
    const auto what = from.integer(row, problem);
    if (what == goes_on) {
      out.cursor = std::to_string(from.integer(row, born));
    } else if (what != 0) {
      report_unreadable(from, row, name);
      out.unreadable.push_back({from.fixed<record_id>(row, record_digest), unreadable().detail});
    } else {
      out.records.push_back(read_view(from, row));
    }
  }
  return out;
}

counts read_counts(const rows& from) {
  from.expect_columns(2);
  counts out;
  for (int row = 0; row < from.size(); ++row) {
    if (from.null(row, 0)) {
      out.cursor = std::to_string(from.integer(row, 1));
      continue;
    }
    const auto at = static_cast<std::size_t>(from.integer(row, 0));
    if (at == 0) {
      out.unreadable = static_cast<std::uint64_t>(from.integer(row, 1));
    } else if (at < out.by_state.size()) {
      out.by_state[at] = static_cast<std::uint64_t>(from.integer(row, 1));
    }
  }
  return out;
}

parameters ask_vitals(const known_generation& expected) {
  parameters out;
  add_expected(out, expected);
  return out;
}

vitals read_vitals(const rows& from, std::int64_t& now_there) {
  from.expect_columns(4);
  if (from.size() != 1) throw unexpected_answer("the schema does not say what it is");
  vitals out;
  out.identity = from.bytes(0, 0);
  out.generation = static_cast<std::uint64_t>(from.integer(0, 1));
  out.forgotten = static_cast<std::uint64_t>(from.integer(0, 2));
  now_there = from.integer(0, 3);
  return out;
}

}  // namespace onceguard::postgres
