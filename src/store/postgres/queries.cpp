#include "store/postgres/queries.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "store/postgres/wire.hpp"
#include "store/view.hpp"

namespace onceguard::postgres {

parameters ask_epoch(const std::string& accelerator) {
  parameters out;
  out.bytes(accelerator);
  return out;
}

epoch_reading read_epoch(const rows& rows, const std::string& accelerator) {
  rows.expect_columns(7);
  if (rows.size() != 1) throw unexpected_answer("the schema does not say which epoch it is");
  epoch_reading out;
  out.epoch = rows.bytes(0, 0);
  out.origin = rows.bytes(0, 1);
  out.forgotten = static_cast<std::uint64_t>(rows.integer(0, 2));
  out.generation = static_cast<std::uint64_t>(rows.integer(0, 3));
  out.now = rows.integer(0, 4);
  if (rows.null(0, 5)) return out;
  out.noted.emplace();
  out.noted->identity = accelerator;
  out.noted->generation = static_cast<std::uint64_t>(rows.integer(0, 5));
  out.noted->clock_ahead = rows.integer(0, 6);
  return out;
}

parameters ask_note(const accelerator_state& found, const std::string& distrusted) {
  parameters out;
  out.bytes(found.identity).int8(static_cast<std::int64_t>(found.generation));
  out.int8(found.clock_ahead);
  if (distrusted.empty()) {
    out.null();
  } else {
    out.bytes(distrusted);
  }
  return out;
}

bool read_note(const rows& rows) {
  rows.expect_columns(1);
  if (rows.size() != 1) throw unexpected_answer("a note without its answer");
  return rows.boolean(0, 0);
}

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

subject_ptr read_subject(const rows& rows, int row) {
  auto out = std::make_shared<subject>();
  out->scope = rows.fixed<digest>(row, scope);
  out->scope_kind = rows.bytes(row, scope_kind);
  out->key = rows.bytes(row, key);
  out->method = rows.bytes(row, method);
  out->path = rows.bytes(row, path);
  out->route = rows.bytes(row, route);
  out->print.method = rows.bytes(row, print_method);
  out->print.value = rows.fixed<digest>(row, print);
  out->run_timeout = milliseconds(rows.integer(row, run_timeout));
  return out;
}

/// Here status, headers and body are separate columns.
answer_ptr read_found_answer(const rows& rows, int row) {
  if (rows.null(row, status)) return nullptr;
  auto out = std::make_shared<answer>();
  out->status = static_cast<std::uint16_t>(rows.integer(row, status));
  out->headers = read_headers(rows, row, headers);
  out->body = rows.bytes(row, body);
  return out;
}

record read_record(const rows& rows, int row) {
  record out;
  out.about = read_subject(rows, row);
  out.state = static_cast<record_state>(rows.integer(row, state));
  out.token = static_cast<token>(rows.integer(row, token_given));
  out.claim_id = rows.fixed<onceguard::claim_id>(row, claim_id);
  out.attempt = static_cast<std::uint32_t>(rows.integer(row, attempt));
  out.deadline_lease = rows.integer(row, deadline_at);
  out.retry_at_lease = rows.integer(row, retry_at);
  out.claimed_at_wall = rows.integer(row, claimed_at);
  out.settled_at_wall = rows.integer(row, settled_at);
  out.expires_at_wall = rows.integer(row, expires_at);
  out.unknown_retention_ms = rows.integer(row, unknown_retention);
  out.why = static_cast<unknown_reason>(rows.integer(row, why));
  out.why_status = static_cast<std::uint16_t>(rows.integer(row, why_status));
  out.kept = static_cast<answer_kept>(rows.integer(row, kept));
  out.answer = read_found_answer(rows, row);
  out.failures = static_cast<std::uint32_t>(rows.integer(row, failures));
  out.by_operator = rows.boolean(row, by_operator);
  out.by_application = rows.boolean(row, by_application);
  out.incident = rows.boolean(row, incident);
  out.earlier_unknown = rows.boolean(row, earlier_unknown);
  out.maybe_repeated = rows.boolean(row, maybe_repeated);
  return out;
}

record_view read_view(const rows& rows, int row) {
  instant time;
  time.lease = time.wall = rows.integer(row, now);
  return make_view(rows.fixed<record_id>(row, record_digest), read_record(rows, row), time);
}

/// status, headers and body, or three nulls.
void add_answer(parameters& parameters, const answer_ptr& answer) {
  if (answer) {
    parameters.int2(answer->status).whole(flat_headers(*answer)).bytes(answer->body);
  } else {
    parameters.null().null().null();
  }
}

void report_unreadable(const rows& rows, int row, const std::string& name) {
  base::log(base::event::stored_record_unreadable,
            {{"store", name},
             {"record", base::to_hex(rows.fixed<record_id>(row, record_digest))},
             {"why", unreadable().detail}});
}

}  // namespace

parameters ask_resolve(const resolution& request, bool expiry_paused) {
  parameters out;
  out.bytes(request.id).boolean(request.completed);
  add_answer(out, request.answer);
  out.boolean(request.force).int8(request.retention.count()).boolean(expiry_paused);
  out.boolean(request.keep_completed);
  return out;
}

std::optional<result<resolve_decision>> read_resolve(const rows& rows) {
  rows.expect_columns(4);
  if (rows.size() != 1) throw unexpected_answer("a resolution without its answer");
  if (const auto wrong = rows.integer(0, 0); wrong != 0) {
    if (wrong == unreadable_record) return result<resolve_decision>(unreadable());
    return std::nullopt;
  }
  resolve_decision out;
  out.outcome = static_cast<resolve_outcome>(rows.integer(0, 1));
  out.retry_after = milliseconds(rows.integer(0, 2));
  out.forgets_answer = rows.boolean(0, 3);
  return result<resolve_decision>(std::move(out));
}

parameters ask_import(const imported_record& request, bool expiry_paused) {
  const auto& r = request.stored;
  const auto length = [](milliseconds duration) {
    return std::max<std::int64_t>(duration.count(), 0);
  };
  parameters out;
  out.bytes(request.id).int8(static_cast<std::int64_t>(r.token)).bytes(r.claim_id);
  out.int2(static_cast<std::int64_t>(r.state)).int4(r.attempt).int4(r.failures);
  out.int2(static_cast<std::int64_t>(r.why)).int2(r.why_status);
  out.int2(static_cast<std::int64_t>(r.kept));
  add_answer(out, r.answer);
  out.boolean(r.by_operator).boolean(r.by_application).boolean(r.incident);
  out.boolean(r.earlier_unknown).boolean(r.maybe_repeated);
  out.int8(length(request.lease_over))
      .int8(length(request.retry_after))
      .int8(length(request.claimed_ago));
  out.int8(length(request.settled_ago)).int8(length(request.retention_left));
  out.int8(r.unknown_retention_ms).int8(r.about->run_timeout.count());
  const auto& about = *r.about;
  out.bytes(about.scope).bytes(about.scope_kind).bytes(about.key).bytes(about.method);
  out.bytes(about.path).bytes(about.route).bytes(about.print.method).bytes(about.print.value);
  out.boolean(expiry_paused);
  return out;
}

std::optional<result<import_outcome>> read_import(const rows& rows) {
  rows.expect_columns(2);
  if (rows.size() != 1) throw unexpected_answer("an adoption without its answer");
  if (const auto wrong = rows.integer(0, 0); wrong != 0) {
    if (wrong == unreadable_record) return result<import_outcome>(unreadable());
    return std::nullopt;
  }
  return result<import_outcome>(static_cast<import_outcome>(rows.integer(0, 1)));
}

parameters ask_find(const record_id& id, bool expiry_paused) {
  parameters out;
  out.bytes(id).boolean(expiry_paused);
  return out;
}

result<std::optional<record_view>> read_find(const rows& rows) {
  rows.expect_columns(columns);
  if (rows.size() == 0) return std::optional<record_view>();
  if (rows.integer(0, problem) != 0) return unreadable();
  return std::optional<record_view>(read_view(rows, 0));
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

list_page read_list(const rows& rows, const std::string& name) {
  rows.expect_columns(columns);
  constexpr std::int64_t goes_on = 3;
  list_page out;
  for (int row = 0; row < rows.size(); ++row) {
    const auto value = rows.integer(row, problem);
    if (value == goes_on) {
      out.cursor = std::to_string(rows.integer(row, born));
    } else if (value != 0) {
      report_unreadable(rows, row, name);
      out.unreadable.push_back({rows.fixed<record_id>(row, record_digest), unreadable().detail});
    } else {
      out.records.push_back(read_view(rows, row));
    }
  }
  return out;
}

counts read_counts(const rows& rows) {
  rows.expect_columns(2);
  counts out;
  for (int row = 0; row < rows.size(); ++row) {
    if (rows.null(row, 0)) {
      out.cursor = std::to_string(rows.integer(row, 1));
      continue;
    }
    const auto state = static_cast<std::size_t>(rows.integer(row, 0));
    if (state == 0) {
      out.unreadable = static_cast<std::uint64_t>(rows.integer(row, 1));
    } else if (state < out.by_state.size()) {
      out.by_state[state] = static_cast<std::uint64_t>(rows.integer(row, 1));
    }
  }
  return out;
}

parameters ask_vitals(const known_generation& expected) {
  parameters out;
  add_expected(out, expected);
  return out;
}

vitals read_vitals(const rows& rows, std::int64_t& now_there) {
  rows.expect_columns(4);
  if (rows.size() != 1) throw unexpected_answer("the schema does not say what it is");
  vitals out;
  out.identity = rows.bytes(0, 0);
  out.generation = static_cast<std::uint64_t>(rows.integer(0, 1));
  out.forgotten = static_cast<std::uint64_t>(rows.integer(0, 2));
  now_there = rows.integer(0, 3);
  return out;
}

}  // namespace onceguard::postgres
