#include "store/postgres/batching/batch_trip.hpp"

#include <unordered_map>

#include "core/record_id_hash.hpp"
#include "store/postgres/batching/dispatcher.hpp"

namespace onceguard::postgres {
namespace {

using requests_by_id = std::unordered_multimap<record_id, request*, record_id_hash>;

requests_by_id by_id(const std::vector<request*>& list) {
  requests_by_id out;
  out.reserve(list.size());
  for (auto* each : list) out.emplace(each->id, each);
  return out;
}

/// Calls `visit` with each request for the record of this row.
template <class Visit>
void each_of(const requests_by_id& all, const record_id& id, Visit visit) {
  const auto [begin, end] = all.equal_range(id);
  for (auto each = begin; each != end; ++each) visit(*each->second);
}

}  // namespace

batch_trip::batch_trip(dispatcher& dispatcher, std::vector<entry> entries)
    : dispatcher_(dispatcher),
      entries_(std::move(entries)),
      confirms_(dispatcher.standby_distrusted_) {
  for (auto& each : entries_) {
    auto* const one = each.request;
    confirms_ = confirms_ || one->doubtful;
    const auto* query = std::get_if<record_query>(&one->content);
    if (std::holds_alternative<completion>(one->content)) {
      completions_.push_back(one);
    } else if (std::holds_alternative<first_claim>(one->content)) {
      claims_.push_back(one);
    } else if (query != nullptr && !query->whole) {
      queries_.push_back(one);
    } else {
      singles_.push_back(one);
    }
  }
}

void batch_trip::arrived(const std::vector<result_ptr>& results) {
  dispatcher_.arrived(*this, results);
}

void batch_trip::failed(const failure& why, effect_of_failure after) {
  dispatcher_.failed(*this, why, after);
}

// --- sending --------------------------------------------------------------------------------

std::vector<statement_call> batch_trip::calls(std::int64_t connection) {
  connection_ = connection;
  std::vector<statement_call> out;
  if (!completions_.empty()) call_completions(out);
  if (!claims_.empty()) call_claims(out, connection);
  if (!queries_.empty()) call_queries(out);
  for (const auto* each : singles_) call_single(out, *each, connection);
  return out;
}

void batch_trip::call_completions(std::vector<statement_call>& out) const {
  array_value ids(type::bytes), leases(type::bytes), tokens(type::int8), locks(type::int8),
      retentions(type::int8), flags(type::int2), subjects(type::bytes), outcomes(type::bytes);
  for (const auto* each : completions_) {
    const auto& row = std::get<completion>(each->content);
    ids.bytes(each->id);
    leases.bytes(row.lease);
    tokens.int8(row.token);
    locks.int8(lock_of(each->id));
    retentions.int8(row.retention_ms);
    flags.int2(row.flags);
    subjects.bytes(row.subject);
    outcomes.bytes(row.outcome);
  }
  parameters all;
  for (auto* each : {&ids, &leases, &tokens, &locks, &retentions, &flags, &subjects, &outcomes}) {
    all.array(*each);
  }
  out.push_back({&complete_batch, std::move(all)});
}

void batch_trip::call_claims(std::vector<statement_call>& out, std::int64_t connection) const {
  array_value ids(type::bytes), leases(type::bytes), locks(type::int8), lengths(type::int8),
      started(type::boolean), unknown(type::int8), retentions(type::int8), flags(type::int2),
      subjects(type::bytes);
  for (const auto* each : claims_) {
    const auto& row = std::get<first_claim>(each->content);
    ids.bytes(each->id);
    leases.bytes(row.lease);
    locks.int8(lock_of(each->id));
    lengths.int8(row.lease_ms);
    started.boolean(row.into_started);
    unknown.int8(row.unknown_retention_ms);
    retentions.int8(row.retention_ms);
    flags.int2(row.flags);
    subjects.bytes(row.subject);
  }
  parameters all;
  for (auto* each :
       {&ids, &leases, &locks, &lengths, &started, &unknown, &retentions, &flags, &subjects}) {
    all.array(*each);
  }
  all.int8(connection).int8(dispatcher_.memory().leases_of(connection));
  out.push_back({&claim_batch, std::move(all)});
  parameters known;
  dispatcher_.memory().write(known);
  out.push_back({&check_memory, std::move(known)});
}

void batch_trip::call_queries(std::vector<statement_call>& out) const {
  array_value ids(type::bytes);
  for (const auto* each : queries_) ids.bytes(each->id);
  parameters all;
  all.array(ids);
  out.push_back({&read_batch, std::move(all)});
}

void batch_trip::call_single(std::vector<statement_call>& out, const request& one,
                             std::int64_t connection) const {
  parameters all;
  if (const auto* question = std::get_if<postgres::question>(&one.content)) {
    out.push_back({question->sent, question->encode(dispatcher_)});
    return;
  }
  const auto* row = std::get_if<row_to_write>(&one.content);
  if (row == nullptr) {
    all.bytes(one.id);
    out.push_back({&read_whole, std::move(all)});
    return;
  }
  write_row(all, one.id, *row);
  if (row->version.empty()) {
    out.push_back({&insert_row, std::move(all)});
    return;
  }
  all.boolean(row->grants).boolean(row->forgets);
  dispatcher_.memory().write(all);
  all.int8(connection).int8(dispatcher_.memory().leases_of(connection));
  out.push_back({&replace_row, std::move(all)});
}

// --- what came back -------------------------------------------------------------------------

void batch_trip::read(const std::vector<result_ptr>& results) {
  std::size_t position = 0;
  const auto next = [&] {
    if (position >= results.size()) throw unexpected_answer("a statement without its result");
    return rows(results[position++].get());
  };
  if (!completions_.empty()) read_completions(next());
  if (!claims_.empty()) {
    read_claims(next());
    static_cast<void>(next());  // of check_memory
  }
  if (!queries_.empty()) read_queries(next());
  for (auto* each : singles_) read_single(*each, next());
}

void batch_trip::read_completions(const rows& rows) {
  rows.expect_columns(4);
  const auto all = by_id(completions_);
  for (int row = 0; row < rows.size(); ++row) {
    const auto lease = rows.fixed<claim_id>(row, 1);
    const auto token = rows.integer(row, 2);
    each_of(all, rows.fixed<record_id>(row, 0), [&](request& one) {
      const auto& sent = std::get<completion>(one.content);
      if (sent.lease != lease || sent.token != token) return;
      one.got.written = true;
      one.got.listened = rows.boolean(row, 3);
    });
  }
}

void batch_trip::read_claims(const rows& rows) {
  rows.expect_columns(row_columns + 1);
  const auto all = by_id(claims_);
  for (int row = 0; row < rows.size(); ++row) {
    const auto grant = read_grant(rows, row);
    const auto seen = grant ? reading{} : read_row(rows, row);
    each_of(all, id_in(rows, row), [&](request& one) {
      if (!grant) {
        one.got = seen;
      } else if (std::get<first_claim>(one.content).lease == grant->claim_id) {
        one.got.written = true;
        one.got.token = grant->token;
        one.got.leases = grant->leases;
      }
    });
  }
}

void batch_trip::read_queries(const rows& rows) {
  rows.expect_columns(row_columns);
  const auto all = by_id(queries_);
  for (int row = 0; row < rows.size(); ++row) {
    const auto seen = read_row(rows, row);
    each_of(all, id_in(rows, row), [&](request& one) { one.got = seen; });
  }
}

void batch_trip::read_single(request& one, const rows& rows) {
  if (const auto* question = std::get_if<postgres::question>(&one.content)) {
    question->read(rows, dispatcher_);
  } else if (std::holds_alternative<record_query>(one.content)) {
    rows.expect_columns(row_columns);
    if (rows.size() != 1) throw unexpected_answer("a record without its row");
    one.got = read_row(rows, 0);
  } else {
    rows.expect_columns(3);
    one.got.written = rows.size() == 1;
    if (!one.got.written) return;
    one.got.token = static_cast<token>(rows.integer(0, 0));
    one.got.leases = rows.integer(0, 1);
    one.got.listened = rows.boolean(0, 2);
  }
}

}  // namespace onceguard::postgres
