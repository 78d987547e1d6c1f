#include "store/sqlite/key_index.hpp"

#include <array>
#include <span>

#include "base/hex.hpp"
#include "store/indexed_key.hpp"
#include "store/sqlite/session.hpp"

namespace onceguard::sqlite {
namespace {

/// The number in the byte at this position of a record, below `end`; NULL if it is `end` or more.
std::string number_at(const std::string& position, unsigned end) {
  std::array<unsigned char, 128> bytes{};
  for (unsigned i = 0; i < end; ++i) bytes.at(i) = static_cast<unsigned char>(i);
  return "(nullif(instr(x'" + base::to_hex(std::span(bytes).first(end)) + "', substr(record, " +
         position + ", 1)), 0) - 1)";
}

/// Of an encoded record (docs/formats.md), the key behind its length. NULL where attempts or
/// failures are too many for one byte each, or the kind of the scope has a long name.
std::string key_expression() {
  // Bytes are counted from 1. Attempt and failures stand at 30 and 31, the status of one or two
  // bytes at 32; six times and the scope follow, and the kind of the scope.
  const std::string kind = "(113 + (substr(record, 32, 1) >= x'80'))";
  const std::string kind_size = number_at(kind, indexed_kind_max);
  const std::string key = "(" + kind + " + 1 + " + kind_size + ")";
  const auto most = std::to_string(indexed_key_max);
  const std::string size = "coalesce(" + number_at(key, indexed_key_max) + " + 1, " + most + ")";
  return "CASE WHEN substr(record, 30, 1) < x'80' AND substr(record, 31, 1) < x'80' THEN "
         "substr(record, " +
         key + ", " + size + ") END";
}

/// As SQLite keeps it. Another text is the index of another version, which has another expression.
std::string making_of_index() {
  return "CREATE INDEX records_by_key ON records (" + key_expression() + ")";
}

void begin_within(session& opened, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  while (!opened.try_begin()) {
    if (base::boot_now() >= until) throw failure(SQLITE_BUSY, "another process writes");
    wait_one_step();
  }
}

}  // namespace

bool has_key_index(connection& database) {
  auto made = database.prepare(
      "SELECT count(*) FROM sqlite_schema WHERE name = 'records_by_key' AND sql = ?");
  const auto sql = making_of_index();
  made.bind(1, std::string_view(sql));
  return made.step() && made.integer(0) != 0;
}

std::string rows_by_key() {
  // Within a key, the index has its entries in the order of the ids. So SQLite merges the two, and
  // reads no entry that nobody asks for.
  const std::string rows =
      "SELECT id, state, digest, boot, record FROM records INDEXED BY records_by_key WHERE ";
  const auto key = key_expression();
  return rows + key + " = ?2 AND id > ?1 UNION ALL " + rows + key +
         " IS NULL AND id > ?1 ORDER BY id";
}

result<void> index_keys(const sqlite_params& params, bool drop) {
  auto opened = session::open(params, session_use::write, if_missing::fail);
  if (!opened) return opened.error();
  auto& file = **opened;
  try {
    file.on().run("PRAGMA temp_store = FILE");  // what is sorted may be long
    begin_within(file, params.timeout);
    const bool there = has_key_index(file.on());
    if (drop || !there) file.on().run("DROP INDEX IF EXISTS records_by_key");
    if (!drop && !there) file.on().run(making_of_index().c_str());
    // Every transaction raises the token, by which a lost one shows.
    auto meta = file.metadata().read_meta();
    ++meta.last_token;
    file.metadata().write_meta(meta);
    file.commit();
    file.wal().checkpoint();
    return {};
  } catch (const failure& failed) {
    const bool without_effect = file.roll_back();
    return to_error(failed, params.path, without_effect ? effect::none : effect::unknown);
  }
}

}  // namespace onceguard::sqlite
