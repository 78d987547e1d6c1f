#include <algorithm>
#include <libpq-fe.h>
#include <stdexcept>
#include <vector>

#include <onceguard/outbox_postgres.hpp>
#include <onceguard/postgres.hpp>

#include "execute/postgres/libpq_transaction.hpp"
#include "execute/postgres/transaction_claim.hpp"
#include "libpq/binary_format.hpp"

namespace onceguard::postgres {
namespace {

using messaging::attribute;

constexpr std::size_t id_size_max = 255;  // what an inbox takes
constexpr std::string_view id_property = "message_id";

std::string quoted(std::string_view name) {
  if (name.empty()) throw std::invalid_argument("outbox: expected [SCHEMA.]TABLE");
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

std::string quoted_table(std::string_view table) {
  const auto dot = table.find('.');
  if (dot == table.npos) return quoted(table);
  return quoted(table.substr(0, dot)) + '.' + quoted(table.substr(dot + 1));
}

std::string statement_for(std::string_view table) {
  return "INSERT INTO " + quoted_table(table) +
         " (message_id, order_key, payload, headers, properties) VALUES"
         " (coalesce($1, pg_catalog.gen_random_uuid()::text), $2, $3, $4, $5)"
         " RETURNING message_id";
}

/// Names and values in turn; none: null.
void add_pairs(parameters& values, const std::vector<attribute>& pairs) {
  if (pairs.empty()) {
    values.null();
    return;
  }
  array_value words(type::bytes);
  for (const auto& [name, value] : pairs) {
    words.bytes(name);
    words.bytes(value);
  }
  values.array(words);
}

/// With the server's words: the usual text of a missing table is about the schema of the records.
error refusal_of(const statement_failed& failed) {
  auto out = to_error(failed, effect::none);
  out.detail = std::string("outbox: ") + failed.what() + " [" + failed.sqlstate() + ']';
  return out;
}

/// Throws statement_failed.
std::string insert(PGconn* connection, const std::string& statement, const parameters& values) {
  if (!values.send_text(connection, statement.c_str())) check(connection, nullptr);
  result_ptr last;
  while (result_ptr got{PQgetResult(connection)}) last = std::move(got);
  check(connection, last.get());
  const rows inserted(last.get());
  // A trigger or a rule of somebody's may have kept the row out.
  if (inserted.size() != 1) throw statement_failed("P0001", "the outbox took no row");
  return std::string(inserted.bytes(0, 0));
}

}  // namespace

inline namespace v1 {

outbox::outbox(pg_conn* connection, std::string_view table)
    : connection_(connection), statement_(statement_for(table)) {}

result<std::string> outbox::publish(const messaging::message& sent) {
  if (auto why = not_ready(connection_)) return *why;
  if (PQtransactionStatus(connection_) != PQTRANS_INTRANS) {
    return error(errc::conflict,
                 "outbox: no transaction is open, in which the message could leave");
  }
  auto properties = sent.properties;
  const auto id = std::find_if(properties.begin(), properties.end(),
                               [](const attribute& one) { return one.first == id_property; });
  parameters values;
  if (id == properties.end()) {
    values.null();
  } else {
    if (id->second.empty() || id->second.size() > id_size_max) {
      return error(errc::invalid_argument, "outbox: message_id takes 1 to 255 bytes");
    }
    values.bytes(id->second);
    properties.erase(id);
  }
  if (sent.order_key.empty()) {
    values.null();
  } else {
    values.bytes(sent.order_key);
  }
  values.bytes(sent.payload);
  add_pairs(values, sent.headers);
  add_pairs(values, properties);
  try {
    return insert(connection_, statement_, values);
  } catch (const statement_failed& failed) {
    return refusal_of(failed);
  }
}

}  // namespace v1
}  // namespace onceguard::postgres
