#include "store/sqlite/record_table.hpp"

#include <algorithm>
#include <vector>

#include "store/record_errors.hpp"
#include "store/sqlite/schema.hpp"

namespace onceguard::sqlite {
namespace {

void bind_expiry(statement& statement, int index, const record& stored) {
  if (stored.expires_at_wall == 0) {
    statement.bind_null(index);
  } else {
    const bool settled = stored.state >= record_state::completed;
    statement.bind(index, stored.expires_at_wall + (settled ? 0 : expiry_of_unsettled));
  }
}

}  // namespace

bool is_damage(const failure& failed) noexcept {
  const int code = failed.extended_code();
  return failed.code() == SQLITE_CORRUPT || code == SQLITE_IOERR_READ ||
         code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS ||
         code == SQLITE_IOERR_DATA;
}

record_id id_from(std::string_view digest) noexcept {
  record_id out{};
  std::copy_n(digest.begin(), std::min(digest.size(), out.size()), out.begin());
  return out;
}

replacement_id replacement_of(const record_id& id) noexcept {
  replacement_id out{};
  std::copy(id.begin(), id.end(), out.begin());
  out.back() = 1;
  return out;
}

result<record_in_boot> read_record(std::string_view bytes, std::int64_t boot, const moment& present,
                                   const encoded_parts& parts) {
  auto read = decode_record(bytes, parts);
  if (!read) return read.error();
  if (!read->about) return subject_unreadable();
  return seen_in_boot(*std::move(read), boot == present.boot, present.now);
}

record_table::record_table(connection& connection, const std::string& prefix)
    : connection_(connection),
      load_(connection.prepare("SELECT id, boot, record FROM " + prefix +
                               "records WHERE digest = ?")),
      insert_(connection.prepare("INSERT INTO " + prefix +
                                 "records (digest, state, expires_at, boot, record) "
                                 "VALUES (?, ?, ?, ?, ?)")),
      update_(connection.prepare("UPDATE " + prefix +
                                 "records SET state = ?, expires_at = ?, boot = ?, record = ? "
                                 "WHERE id = ?")),
      // From 0 on, the column expires_at alone says when settled records expire. A process of
      // schema 3 writes the expiry of unsettled records there, too.
      remove_settled_(connection.prepare("DELETE FROM " + prefix +
                                         "records WHERE id IN (SELECT id FROM " + prefix +
                                         "records WHERE expires_at BETWEEN 0 AND ? AND state >= 4 "
                                         "LIMIT ?)")),
      unsettled_(connection.prepare("SELECT id, boot, record FROM " + prefix +
                                    "records INDEXED BY " + prefix +
                                    "records_by_expiry WHERE expires_at <= ?")),
      remove_(connection.prepare("DELETE FROM " + prefix + "records WHERE id = ?")),
      // The index has all columns: no page of the table is read.
      expired_(connection.prepare("SELECT id FROM " + prefix + "records INDEXED BY " + prefix +
                                  "records_by_expiry WHERE expires_at <= ?1 UNION ALL "
                                  "SELECT id FROM " +
                                  prefix + "records INDEXED BY " + prefix +
                                  "records_by_expiry WHERE expires_at BETWEEN 0 AND ?2")),
      one_(
          connection.prepare("SELECT state, boot, record FROM " + prefix + "records WHERE id = ?")),
      note_unreadable_(
          connection.prepare("INSERT OR IGNORE INTO " + prefix + "unreadable VALUES (?)")),
      forget_unreadable_(
          connection.prepare("DELETE FROM " + prefix + "unreadable WHERE digest = ?")),
      drop_notes_(connection.prepare(
          "DELETE FROM " + prefix + "unreadable WHERE digest NOT IN (SELECT digest FROM " + prefix +
          "records WHERE digest IN (SELECT digest FROM " + prefix + "unreadable))")) {}

result<std::optional<stored_row>> record_table::load(const record_id& id, const moment& present,
                                                     const encoded_parts& parts) {
  return load_row(id, present, parts);
}

result<std::optional<stored_row>> record_table::load_replacement(const record_id& id,
                                                                 const moment& present,
                                                                 const encoded_parts& parts) {
  return load_row(replacement_of(id), present, parts);
}

result<std::optional<stored_row>> record_table::load_row(std::span<const unsigned char> digest,
                                                         const moment& present,
                                                         const encoded_parts& parts) {
  const resetting at_end(load_);
  load_.bind(1, digest);
  if (!load_.step()) return std::optional<stored_row>();
  auto read = read_record(load_.bytes(2), load_.integer(1), present, parts);
  if (!read) return read.error();
  std::optional<stored_row> out(std::in_place);
  out->number = load_.integer(0);
  out->seen = std::move(*read);
  return out;
}

void record_table::insert(const record_id& id, const record& stored, std::int64_t boot_now,
                          const encoded_parts& parts) {
  insert_row(id, stored, boot_now, parts);
}

void record_table::insert_row(std::span<const unsigned char> digest, const record& stored,
                              std::int64_t boot_now, const encoded_parts& parts) {
  const auto bytes = encode_record(stored, parts);
  insert_.bind(1, digest).bind(2, static_cast<std::int64_t>(stored.state));
  bind_expiry(insert_, 3, stored);
  insert_.bind(4, boot_now).bind_blob(5, bytes).run();
}

void record_table::update(std::int64_t number, const record& stored, std::int64_t boot_now,
                          const encoded_parts& parts) {
  const auto bytes = encode_record(stored, parts);
  update_.bind(1, static_cast<std::int64_t>(stored.state));
  bind_expiry(update_, 2, stored);
  update_.bind(3, boot_now).bind_blob(4, bytes).bind(5, number).run();
}

void record_table::replace(const record_id& id, const record& stored, std::int64_t boot_now,
                           bool on_damaged_page) {
  const auto other = replacement_of(id);
  const auto digest = on_damaged_page ? std::span<const unsigned char>(other) : id;
  std::optional<std::int64_t> number;
  {
    const resetting at_end(load_);
    load_.bind(1, digest);
    if (load_.step()) number = load_.integer(0);
  }
  forget_unreadable_.bind(1, id).run();
  if (number) return update(*number, stored, boot_now, {});
  insert_row(digest, stored, boot_now, {});
}

void record_table::note_unreadable(const record_id& id) { note_unreadable_.bind(1, id).run(); }

void record_table::probe(const record_id& id) {
  const resetting at_end(load_);
  load_.bind(1, id);
  static_cast<void>(load_.step());
}

void record_table::probe_expired(const moment& moment, std::size_t most) {
  careful_ = true;
  if (!moment.now.expiry_paused) static_cast<void>(list_expired(moment, most));
}

std::size_t record_table::remove_expired(const moment& moment, std::size_t most) {
  if (moment.now.expiry_paused || most == 0) return 0;
  if (!careful_) {
    const auto gone = remove_settled(moment, most);
    return gone < most ? gone + remove_unsettled(moment, most - gone) : gone;
  }
  const auto over = list_expired(moment, most);
  for (const auto number : over) {
    try {
      remove_.bind(1, number).run();
    } catch (const failure& failed) {
      // Removing a row may need a neighbouring page that is damaged.
      if (is_damage(failed)) on_damaged_pages_.insert(number);
      throw;
    }
  }
  return over.size();
}

std::size_t record_table::remove_settled(const moment& moment, std::size_t most) {
  remove_settled_.bind(1, moment.now.wall).bind(2, static_cast<std::int64_t>(most)).run();
  return static_cast<std::size_t>(sqlite3_changes(connection_.get()));
}

std::size_t record_table::remove_unsettled(const moment& moment, std::size_t most) {
  std::vector<std::int64_t> gone;
  {
    const resetting at_end(unsettled_);
    unsettled_.bind(1, moment.now.wall + expiry_of_unsettled);
    while (gone.size() < most && unsettled_.step()) {
      const auto read = read_record(unsettled_.bytes(2), unsettled_.integer(1), moment);
      // A record that can't be read may hold a lease: it stays.
      if (read && expired(read->stored, moment.now)) gone.push_back(unsettled_.integer(0));
    }
  }
  for (const auto number : gone) remove_.bind(1, number).run();
  return gone.size();
}

/// Checks the records one by one, and skips those that are known to be on damaged pages. Further
/// records found on damaged pages become known.
std::vector<std::int64_t> record_table::list_expired(const moment& moment, std::size_t most) {
  std::vector<std::int64_t> over;
  const resetting at_end(expired_);
  expired_.bind(1, moment.now.wall + expiry_of_unsettled).bind(2, moment.now.wall);
  while (over.size() < most && expired_.step()) {
    const auto number = expired_.integer(0);
    if (on_damaged_pages_.contains(number)) continue;
    try {
      if (may_go(number, moment)) over.push_back(number);
    } catch (const failure& failed) {
      if (!is_damage(failed)) throw;
      on_damaged_pages_.insert(number);
    }
  }
  return over;
}

/// False for an unsettled record that can't be read: it may hold a lease.
bool record_table::may_go(std::int64_t number, const moment& moment) {
  const resetting at_end(one_);
  one_.bind(1, number);
  if (!one_.step()) return false;
  if (one_.integer(0) >= static_cast<std::int64_t>(record_state::completed)) return true;
  const auto read = read_record(one_.bytes(2), one_.integer(1), moment);
  return read && expired(read->stored, moment.now);
}

}  // namespace onceguard::sqlite
