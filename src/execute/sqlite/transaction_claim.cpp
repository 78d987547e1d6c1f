#include "execute/sqlite/transaction_claim.hpp"

#include "store/sqlite/schema.hpp"

namespace onceguard::sqlite {
namespace {

claimed locked_out() {
  claimed out;
  out.locked = true;
  out.verdict.kind = verdict_kind::busy;
  out.verdict.retry_after = retry_after_lock;
  return out;
}

/// Reads the verdict in a transaction that only reads. Empty: there are no tables yet.
result<std::optional<verdict>> peek(connection& connection, const claim& request) {
  struct reading {
    sqlite::connection& connection;
    ~reading() { connection.roll_back(); }
  } const whatever_happens{connection};
  connection.run("BEGIN");
  const auto version = caller_tables_version(connection);
  if (version > caller_version) return newer_tables();
  if (version == 0) return std::optional<verdict>();
  auto reply = caller_tables(connection).peek(request);
  if (!reply) return reply.error();
  return std::optional(std::move(*reply));
}

/// Tries once. `transaction` may be left begun.
result<claimed> try_to_claim(connection& connection, caller_transaction& transaction,
                             const claim& request) {
  if (transaction.whole()) {
    // First without a lock: a repeat of what is done neither waits for a writer nor holds one up.
    auto seen = peek(connection, request);
    if (!seen) return seen.error();
    if (*seen && (*seen)->kind != verdict_kind::run) {
      claimed out;
      out.verdict = std::move(**seen);
      return out;
    }
  }
  if (!transaction.try_begin()) return locked_out();
  auto tables = transaction.tables();
  if (!tables) return tables.error();
  return (*tables)->take(request);
}

}  // namespace

result<claimed> begin_and_claim(connection& connection, caller_transaction& transaction,
                                const claim& request, const execute_policy& policy) {
  const patience until(policy);
  while (true) {
    auto got = locked_out();
    try {
      auto tried = try_to_claim(connection, transaction, request);
      if (tried && tried->verdict.kind == verdict_kind::run) return tried;
      transaction.roll_back();
      if (!tried) return tried;
      got = std::move(*tried);
    } catch (const failure& failed) {
      transaction.roll_back();
      if (!transaction.whole() || failed.code() != SQLITE_BUSY) return rolled_back(failed);
    }
    // Nothing changes within the caller's transaction, so waiting there is useless.
    const bool waits = transaction.whole() && until.left().count() > 0;
    if (got.verdict.kind != verdict_kind::busy || !waits) {
      got.verdict = as_reported(std::move(got.verdict));
      return got;
    }
    until.pause(got.locked ? lock_step : got.verdict.retry_after);
  }
}

}  // namespace onceguard::sqlite
