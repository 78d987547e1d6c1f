#include "store/sqlite/reader.hpp"

#include <algorithm>
#include <charconv>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "store/sqlite/record_table.hpp"
#include "store/view.hpp"

namespace onceguard::sqlite {

reader::reader(const sqlite_params& params, std::unique_ptr<session> opened)
    : params_(params), absence_(params.recreate_after), session_(std::move(opened)) {
  queries_.emplace(*session_);
  thread_ = std::thread([this] { run(); });
}

void reader::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
}

void reader::run() {
  std::vector<call_ptr> calls;
  while (queue_->wait(calls, 1)) {
    if (calls.front()->take()) serve(static_cast<read_job&>(*calls.front()));
    deliver_all(calls);
  }
  close();
}

void reader::serve(read_job& job) {
  for (;;) {
    try {
      if (const auto why = make_ready()) return job.fail(*why);
      return job.carry_out(*queries_);
    } catch (const failure& failed) {
      // Busy: another process recovers the write-ahead log, or closes the file as its last user.
      if (failed.code() != SQLITE_BUSY) {
        // A damaged page is no fault of the connection.
        if (!is_damage(failed)) close();
        return job.fail(to_error(failed, params_.path, effect::none));
      }
    }
    wait_one_step();
  }
}

std::optional<error> reader::make_ready() {
  if (session_ && session_->still_there()) return std::nullopt;
  close();
  const auto missing = absence_.is_final(params_.path) ? if_missing::create : if_missing::fail;
  auto opened = session::open(params_, session_use::read, missing);
  if (!opened) return opened.error();
  session_ = std::move(*opened);
  queries_.emplace(*session_);
  return std::nullopt;
}

void reader::close() {
  queries_.reset();
  session_.reset();
}

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

void report_unreadable(std::string_view digest, const error& why) {
  const std::span bytes(reinterpret_cast<const unsigned char*>(digest.data()), digest.size());
  base::log(base::event::stored_record_unreadable,
            {{"record", base::digest_text(bytes)}, {"why", why.detail}});
}

record_id id_from(std::string_view digest) {
  record_id out{};
  std::copy_n(digest.begin(), std::min(digest.size(), out.size()), out.begin());
  return out;
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

record_queries::record_queries(session& session)
    : session_(session),
      find_(session.on().prepare("SELECT boot, record FROM records WHERE digest = ?")),
      all_(session.on().prepare(
          "SELECT id, digest, boot, record FROM records WHERE id > ? ORDER BY id")),
      settled_(session.on().prepare("SELECT id, digest, boot, record FROM records "
                                    "WHERE id > ? AND state = ?2 ORDER BY id")),
      // Unsettled records are few among many: the index gives their numbers.
      unsettled_(session.on().prepare(
          "SELECT id, digest, boot, record FROM records WHERE id IN (SELECT id FROM records "
          "INDEXED BY records_by_expiry WHERE id > ? AND state < 4) ORDER BY id")),
      // The index has both columns: no page of the table is read.
      digests_(session.on().prepare("SELECT id, digest FROM records INDEXED BY records_by_digest "
                                    "WHERE id > ? ORDER BY id LIMIT ?")),
      one_(session.on().prepare("SELECT boot, record FROM records WHERE id = ?")) {}

result<std::optional<record_view>> record_queries::find(const record_id& id) {
  const snapshot of_now(session_.on());
  const auto present = session_.metadata().read_clocks();
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
  if (!expired(*read, moment.now))
    out = make_view(id, std::move(*read), moment.now, moment.wall_ahead);
  return out;
}

statement& record_queries::rows_for(const std::optional<observed_state>& state) {
  if (!state) return all_;
  if (!is_settled(*state)) return unsettled_;
  settled_.bind(2, static_cast<std::int64_t>(*state));
  return settled_;
}

/// Calls `visit` with the rows behind the cursor until `visit` returns false, or until
/// `examined_max` rows were examined. Returns the cursor for the rows that remain; empty if none
/// remain. `state`: rows that are certainly in another state may be left out.
result<std::string> record_queries::walk(const std::optional<observed_state>& state,
                                         const std::string& cursor, const visitor& visit) {
  std::int64_t after = 0;
  const auto* end = cursor.data() + cursor.size();
  if (!cursor.empty() && std::from_chars(cursor.data(), end, after).ptr != end) {
    return error(errc::invalid_argument, "this cursor was not given by this store");
  }
  std::size_t examined = 0;
  bool more = false;
  try {
    more = walk_whole_pages(rows_for(state), after, examined, visit);
  } catch (const failure& failed) {
    if (!is_damage(failed)) throw;
    more = walk_damaged_pages(after, examined, visit);
  }
  return more ? std::to_string(after) : std::string();
}

bool record_queries::walk_whole_pages(statement& rows, std::int64_t& after, std::size_t& examined,
                                      const visitor& visit) {
  const resetting at_end(rows);
  rows.bind(1, after);
  for (; rows.step(); ++examined) {
    if (examined >= examined_max) return true;
    if (!visit({rows.integer(0), rows.bytes(1), rows.integer(2), rows.bytes(3)})) return true;
    after = rows.integer(0);
  }
  return false;
}

/// Reads by the index, which still lists the records of a page that can't be read.
bool record_queries::walk_damaged_pages(std::int64_t& after, std::size_t& examined,
                                        const visitor& visit) {
  const resetting at_end(digests_);
  digests_.bind(1, after).bind(2, static_cast<std::int64_t>(examined_max - examined + 1));
  for (; digests_.step(); ++examined) {
    if (examined >= examined_max) return true;
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

result<list_page> record_queries::list(const list_filter& filter, const std::string& cursor,
                                       std::size_t limit) {
  const snapshot of_now(session_.on());
  const auto present = session_.metadata().read_clocks();
  list_page page;
  const auto left_out = [&page](const row& at_row, const error& why) {
    report_unreadable(at_row.digest, why);
    page.unreadable.push_back({id_from(at_row.digest), why.detail});
    return true;
  };
  const auto walked = walk(filter.state, cursor, [&](const row& it) {
    if (page.records.size() >= limit) return false;
    if (it.why != nullptr) return left_out(it, *it.why);
    // The encoded record contains the bytes of its key: this search is cheaper than decoding.
    if (filter.key && it.record.find(*filter.key) == std::string_view::npos) {
      const auto wrong = damage_of(it.record);
      return !wrong || left_out(it, *wrong);
    }
    auto read = read_record(it.record, it.boot, present);
    if (!read) return left_out(it, read.error());
    if (expired(*read, present.now)) return true;
    auto view = make_view(id_from(it.digest), std::move(*read), present.now, present.wall_ahead);
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
  const auto walked = walk(std::nullopt, cursor, [&](const row& it) {
    if (it.why != nullptr) return unread(it, *it.why);
    const auto read = read_record(it.record, it.boot, present);
    if (!read) return unread(it, read.error());
    if (expired(*read, present.now)) return true;
    ++out.by_state[static_cast<std::size_t>(observe(*read, present.now))];
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
