#include "store/sqlite/record_queries.hpp"

#include <algorithm>

#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/number_in.hpp"
#include "store/indexed_key.hpp"
#include "store/record_view.hpp"
#include "store/sqlite/key_index.hpp"
#include "store/sqlite/record_table.hpp"

namespace onceguard::sqlite {
namespace {

/// A read transaction: all queries within it see the same state.
class snapshot {
 public:
  explicit snapshot(connection& connection) : connection_(connection) { connection_.run("BEGIN"); }
  snapshot(const snapshot&) = delete;
  snapshot& operator=(const snapshot&) = delete;
  ~snapshot() { connection_.roll_back(); }

 private:
  connection& connection_;
};

bool is_settled(observed_state state) noexcept {
  return state == observed_state::completed || state == observed_state::failed ||
         state == observed_state::released;
}

/// Whether records with this value in the column `state` may be in one of the states; none: any.
bool may_be(std::int64_t stored, const std::vector<observed_state>& states) {
  const auto fits = [stored](observed_state state) {
    return is_settled(state) ? static_cast<std::int64_t>(state) == stored
                             : stored < static_cast<std::int64_t>(record_state::completed);
  };
  return states.empty() || std::any_of(states.begin(), states.end(), fits);
}

void report_unreadable(std::string_view digest, const error& why) {
  const std::span bytes(reinterpret_cast<const unsigned char*>(digest.data()), digest.size());
  base::log(base::event::stored_record_unreadable,
            {{"record", base::digest_text(bytes)}, {"why", why.detail}});
}

error page_damaged(const failure& failed) {
  return error(errc::record_unreadable,
               std::string("the page of the file where it stands: ") + failed.what());
}

}  // namespace

struct record_queries::row {
  std::int64_t number = 0;
  std::string_view digest;
  std::int64_t boot = 0;
  std::string_view record;
  const error* why = nullptr;  ///< not null: the page can't be read, and only the digest is known
};

/// The rows and the time that are left to one page.
class record_queries::allowance {
 public:
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  /// False: no further row. The first one is always taken.
  bool take() noexcept {
    const auto now = base::boot_now();
    if (rows_ == examined_max) until_ = now + longest;
    if (rows_ == 0 || now >= until_) return false;
    --rows_;
    return true;
  }

 private:
  std::size_t rows_ = examined_max;
  base::boot_clock::time_point until_{};
};

record_queries::record_queries(session& session)
    : session_(session),
      find_(session.on().prepare("SELECT boot, record FROM records WHERE digest = ?")),
      all_(session.on().prepare(
          "SELECT id, state, digest, boot, record FROM records WHERE id > ? ORDER BY id")),
      // Unsettled records are few among many: they are at the front of the index.
      unsettled_(
          session.on().prepare("SELECT id, state, digest, boot, record FROM records WHERE id IN ("
                               "SELECT id FROM records INDEXED BY records_by_expiry "
                               "WHERE expires_at IS NULL AND state < 4 AND id > ?1 UNION ALL "
                               "SELECT id FROM records INDEXED BY records_by_expiry "
                               "WHERE expires_at < 0 AND id > ?1) ORDER BY id")),
      // The index has both columns: no page of the table is read.
      digests_(session.on().prepare("SELECT id, digest FROM records INDEXED BY records_by_digest "
                                    "WHERE id > ? ORDER BY id LIMIT ?")),
      one_(session.on().prepare("SELECT boot, record FROM records WHERE id = ?")),
      notes_(session.on().prepare("SELECT digest FROM unreadable ORDER BY digest LIMIT ?")),
      note_(session.on().prepare("SELECT 1 FROM unreadable WHERE digest = ?")) {}

result<std::optional<record_view>> record_queries::find(const record_id& id) {
  const snapshot of_now(session_.on());
  return find_at(id, session_.metadata().read_clocks());
}

result<std::optional<record_view>> record_queries::find_at(const record_id& id,
                                                           const moment& present) {
  try {
    return find_row(id, id, present);
  } catch (const failure& failed) {
    if (!is_damage(failed)) throw;
    auto replaced = find_row(replacement_of(id), id, present);
    if (replaced && !*replaced) return page_damaged(failed);
    return replaced;
  }
}

result<std::optional<record_view>> record_queries::find_row(std::span<const unsigned char> digest,
                                                            const record_id& id,
                                                            const moment& moment) {
  const resetting at_end(find_);
  find_.bind(1, digest);
  std::optional<record_view> out;
  if (!find_.step()) return out;
  auto read = read_record(find_.bytes(1), find_.integer(0), moment);
  if (!read) return read.error();
  if (!expired(read->stored, moment.now)) {
    out = make_view(id, std::move(read->stored), moment.now, moment.wall_ahead, read->revision);
  }
  return out;
}

/// Calls `visit` with the rows behind the cursor until `visit` returns false, or until the
/// allowance is used up. Returns the cursor for the rows that remain; empty if none remain. Rows
/// that are certainly in none of the states may be left out.
result<std::string> record_queries::walk(statement& rows, const std::vector<observed_state>& states,
                                         const std::string& cursor, const visitor& visit) {
  const auto behind = base::number_in<std::int64_t>(cursor.empty() ? "0" : cursor);
  if (!behind) return error(errc::invalid_argument, "this cursor was not given by this store");
  auto after = *behind;
  allowance left;
  bool more = false;
  try {
    more = walk_whole_pages(rows, states, after, left, visit);
  } catch (const failure& failed) {
    if (!is_damage(failed)) throw;
    more = walk_damaged_pages(after, left, visit);
  }
  return more ? std::to_string(after) : std::string();
}

bool record_queries::walk_whole_pages(statement& rows, const std::vector<observed_state>& states,
                                      std::int64_t& after, allowance& left, const visitor& visit) {
  const resetting at_end(rows);
  rows.bind(1, after);
  while (rows.step()) {
    if (!left.take()) return true;
    // The record is read only if it is needed: its answer may be long.
    if (may_be(rows.integer(1), states) &&
        !visit({rows.integer(0), rows.bytes(2), rows.integer(3), rows.bytes(4)})) {
      return true;
    }
    after = rows.integer(0);
  }
  return false;
}

/// Reads by the index, which still lists the records of a page that can't be read.
bool record_queries::walk_damaged_pages(std::int64_t& after, allowance& left,
                                        const visitor& visit) {
  const resetting at_end(digests_);
  digests_.bind(1, after).bind(2, static_cast<std::int64_t>(left.rows() + 1));
  while (digests_.step()) {
    if (!left.take()) return true;
    const auto number = digests_.integer(0);
    if (!visit_one(number, std::string(digests_.bytes(1)), visit)) return true;
    after = number;
  }
  return false;
}

bool record_queries::visit_one(std::int64_t number, const std::string& digest,
                               const visitor& visit) {
  const resetting at_end(one_);
  one_.bind(1, number);
  try {
    if (!one_.step()) return true;
    return visit({number, digest, one_.integer(0), one_.bytes(1)});
  } catch (const failure& failed) {
    if (!is_damage(failed)) throw;
    const auto why = page_damaged(failed);
    const auto other = replacement_of(id_from(digest));
    const resetting found(find_);
    find_.bind(1, other);
    if (find_.step()) return true;  // the replacement has a row of its own
    row unread;
    unread.number = number;
    unread.digest = digest;
    unread.why = &why;
    return visit(unread);
  }
}

statement& record_queries::rows_for(const list_filter& filter) {
  if (filter.key && has_key_index(session_.on())) {
    sought_ = indexed_key(*filter.key);
    by_key_ = session_.on().prepare(rows_by_key());
    by_key_.bind_blob(2, sought_);
    return by_key_;
  }
  const auto states = states_of(filter);
  const bool unsettled = !states.empty() && std::none_of(states.begin(), states.end(), is_settled);
  return unsettled ? unsettled_ : all_;
}

/// Lists the noted records that still can't be read.
void record_queries::add_noted(const moment& present, list_page& page) {
  std::vector<record_id> noted;
  {
    const resetting at_end(notes_);
    notes_.bind(1, static_cast<std::int64_t>(notes_max));
    while (notes_.step()) noted.push_back(id_from(notes_.bytes(0)));
  }
  for (const auto& id : noted) {
    const auto found = find_at(id, present);
    if (!found) page.unreadable.push_back({id, found.error().detail});
  }
}

bool record_queries::is_noted(std::string_view digest) {
  const resetting at_end(note_);
  const auto id = id_from(digest);
  note_.bind(1, id);
  return note_.step();
}

result<list_page> record_queries::list(const list_filter& filter, const std::string& cursor,
                                       std::size_t limit) {
  const snapshot of_now(session_.on());
  const auto present = session_.metadata().read_clocks();
  list_page page;
  if (filter.needs_person && cursor.empty()) add_noted(present, page);
  const auto left_out = [&](const row& at_row, const error& why) {
    if (filter.needs_person && is_noted(at_row.digest)) return true;  // it is on the first page
    report_unreadable(at_row.digest, why);
    page.unreadable.push_back({id_from(at_row.digest), why.detail});
    return true;
  };
  const auto texts = texts_of(filter);
  auto& rows = rows_for(filter);
  const auto walked = walk(rows, states_of(filter), cursor, [&](const row& it) {
    if (page.records.size() >= limit) return false;
    if (it.why != nullptr) return left_out(it, *it.why);
    const auto lacks = [&it](std::string_view text) {
      return it.record.find(text) == std::string_view::npos;
    };
    if (std::any_of(texts.begin(), texts.end(), lacks)) {
      const auto wrong = damage_of(it.record);
      return !wrong || left_out(it, *wrong);
    }
    auto read = read_record(it.record, it.boot, present);
    if (!read) return left_out(it, read.error());
    if (expired(read->stored, present.now)) return true;
    auto view = make_view(id_from(it.digest), std::move(read->stored), present.now,
                          present.wall_ahead, read->revision);
    if (matches(filter, view)) page.records.push_back(std::move(view));
    return true;
  });
  if (!walked) return walked.error();
  page.cursor = *walked;
  return page;
}

result<counts> record_queries::count(const std::string& cursor) {
  const snapshot of_now(session_.on());
  const auto present = session_.metadata().read_clocks();
  counts out;
  const auto unread = [&out](const row& it, const error& why) {
    report_unreadable(it.digest, why);
    ++out.unreadable;
    return true;
  };
  const auto walked = walk(all_, {}, cursor, [&](const row& it) {
    if (it.why != nullptr) return unread(it, *it.why);
    const auto read = read_record(it.record, it.boot, present);
    if (!read) return unread(it, read.error());
    if (expired(read->stored, present.now)) return true;
    ++out.by_state[static_cast<std::size_t>(observe(read->stored, present.now))];
    return true;
  });
  if (!walked) return walked.error();
  out.cursor = *walked;
  return out;
}

result<vitals> record_queries::read_vitals() {
  const auto found = session_.metadata().read_meta();
  vitals out;
  out.identity = found.identity;
  out.generation = found.granted;
  out.forgotten = found.forgotten;
  return out;
}

}  // namespace onceguard::sqlite
