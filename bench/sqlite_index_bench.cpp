// What the index by digest costs in a SQLite file, and what other ways to find a record would cost:
// the store's schema with one thing changed, under the store's statements in batches of 64. Nothing
// is decided, and the records are encoded beforehand.
//   sqlite_index_bench VARIANT FILE fill RECORDS
//   sqlite_index_bench VARIANT FILE run CYCLES
//   sqlite_index_bench list
// `run` prints, for one claim and its complete: the rate without and with the checkpoint at the
// end, microseconds of CPU, bytes of the log, and bytes that the checkpoint copied.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "core/record_codec.hpp"
#include "sample.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/wal_vfs.hpp"

namespace {

using namespace onceguard;
namespace sq = onceguard::sqlite;

constexpr std::size_t batch = 64;

/// In SQL, ?1 is the digest, and ?2 its first eight bytes as a number.
struct variant {
  std::string_view name{};
  std::string_view change{};          ///< of the store's schema
  std::string_view where{};           ///< finds a record
  std::string_view number_column{};   ///< takes ?2
  std::string_view row_key = "id";    ///< what a settle finds its row by
  std::int64_t page = sq::page_size;  ///< bytes
  int cache_kib = 8'192;              ///< as the store's
  bool rows_at_random_pages = false;  ///< so it matters how long the records are that are there
  bool merged = false;                ///< see `young_records`
};

constexpr std::string_view by_digest = "digest = ?1";
constexpr std::string_view of_8_bytes =
    "DROP INDEX records_by_digest; CREATE INDEX found ON records (substr(digest, 1, 8))";
constexpr std::string_view by_8_bytes = "substr(digest, 1, 8) = substr(?1, 1, 8) AND digest = ?1";

constexpr std::array variants{
    variant{.name = "whole", .where = by_digest},
    variant{.name = "number",
            .change = "DROP INDEX records_by_digest; ALTER TABLE records ADD COLUMN number "
                      "INTEGER; CREATE INDEX found ON records (number)",
            .where = "number = ?2 AND digest = ?1",
            .number_column = "number"},
    variant{.name = "8-bytes", .change = of_8_bytes, .where = by_8_bytes},
    variant{.name = "16-bytes",
            .change = "DROP INDEX records_by_digest; "
                      "CREATE INDEX found ON records (substr(digest, 1, 16))",
            .where = "substr(digest, 1, 16) = substr(?1, 1, 16) AND digest = ?1"},
    variant{.name = "row-number",
            .change = "DROP INDEX records_by_digest",
            .where = "id = ?2 AND digest = ?1",
            .number_column = "id",
            .rows_at_random_pages = true},
    variant{.name = "no-row-number",
            .change = "DROP TABLE records; CREATE TABLE records (id INTEGER, digest BLOB NOT NULL "
                      "PRIMARY KEY, state INTEGER NOT NULL, expires_at INTEGER, boot INTEGER NOT "
                      "NULL, record BLOB NOT NULL) STRICT, WITHOUT ROWID; "
                      "CREATE INDEX records_by_expiry ON records (expires_at, state)",
            .where = by_digest,
            .row_key = "digest",
            .rows_at_random_pages = true},
    variant{.name = "pages-2048", .where = by_digest, .page = 2'048},
    variant{.name = "pages-1024", .where = by_digest, .page = 1'024},
    variant{.name = "cache-64", .where = by_digest, .cache_kib = 65'536},
    variant{.name = "merged",
            .change = "DROP INDEX records_by_digest; CREATE TABLE found (digest BLOB PRIMARY KEY, "
                      "row INTEGER) STRICT, WITHOUT ROWID",
            .where = "id = (SELECT row FROM found WHERE digest = ?1) AND digest = ?1",
            .merged = true},
};

std::int64_t number_of(const record_id& id) noexcept {
  std::uint64_t out = 0;
  for (const auto byte : std::span(id).first(sizeof out)) out = out << 8U | byte;
  return static_cast<std::int64_t>(out);
}

record_id random_id() {
  record_id out{};
  base::random_bytes(out);
  return out;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Bytes that this process gave to the kernel to write.
double bytes_written() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  double count = 0;
  while (counters >> name >> count) {
    if (name == "wchar:") return count;
  }
  std::abort();
}

/// Records that the index in the file does not have yet. Each batch moves as many of an earlier run
/// into the index as it claims, in the order of their digests, so that neighbours come together on
/// one page. What a real store would also need is not here: the run is not made again after a
/// start, nor shared between processes.
class young_records {
 public:
  explicit young_records(sq::connection& connection)
      : merge_(connection.prepare("INSERT OR IGNORE INTO found VALUES (?, 0)")) {
    constexpr std::size_t run = 262'144;
    rows_.reserve(3 * run);
    for (std::size_t i = 0; i < run; ++i) rows_.emplace(number_of(random_id()), 0);
    for (std::size_t i = 0; i < run; ++i) run_.push_back(random_id());
    for (const auto& id : run_) rows_.emplace(number_of(id), 0);
    std::sort(run_.begin(), run_.end());
    next_ = static_cast<std::uint64_t>(number_of(random_id())) % run;
  }

  void add(const record_id& id, std::int64_t row) {
    rows_.emplace(number_of(id), row);
    merge_.bind(1, run_[next_]).run();
    next_ = (next_ + 1) % run_.size();
  }

  [[nodiscard]] std::int64_t find(const record_id& id) const {
    const auto found = rows_.find(number_of(id));
    return found == rows_.end() ? 0 : found->second;
  }

 private:
  sq::statement merge_;
  std::unordered_map<std::int64_t, std::int64_t> rows_{};
  std::vector<record_id> run_{};
  std::size_t next_ = 0;
};

std::string insert_of(const variant& kind) {
  const std::string more(kind.number_column);
  return "INSERT INTO records (digest, state, expires_at, boot, record" +
         (more.empty() ? "" : ", " + more) + ") VALUES (?1, ?3, ?4, 1, ?5" +
         (more.empty() ? "" : ", ?2") + ")";
}

void bind_id(sq::statement& statement, const variant& kind, const record_id& id) {
  statement.bind(1, id);
  if (!kind.number_column.empty()) statement.bind(2, number_of(id));
}

sq::connection open(const variant& kind, const char* path, const char* vfs) {
  sq::connection out(path, vfs, sq::open_as::creator);
  if (out.integer("SELECT count(*) FROM sqlite_schema") > 0) return out;
  out.run(("PRAGMA page_size = " + std::to_string(kind.page)).c_str());
  out.run("PRAGMA journal_mode = WAL; BEGIN");
  sq::migrate(out);
  out.run(std::string(kind.change).c_str());
  out.run("COMMIT");
  return out;
}

/// Record by record, so that the pages of the index are as full as those of a store that grew. What
/// the records there say is never read.
void fill(const variant& kind, const char* path, std::int64_t records) {
  auto connection = open(kind, path, nullptr);
  connection.run(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -4000000; BEGIN");
  {
    auto insert = connection.prepare(insert_of(kind));
    auto index = connection.prepare(kind.merged ? "INSERT INTO found VALUES (?, ?)" : "SELECT 1");
    const std::string stored(kind.rows_at_random_pages ? 509 : 8, 'r');
    auto there = connection.integer("SELECT coalesce(max(expires_at), 0) FROM records");
    while (there < records) {
      const auto id = random_id();
      bind_id(insert, kind, id);
      insert.bind(3, 4).bind(4, ++there).bind_blob(5, stored).run();
      if (kind.merged) index.bind(1, id).bind(2, sqlite3_last_insert_rowid(connection.get())).run();
    }
  }
  connection.run("COMMIT; PRAGMA journal_mode = WAL");
}

std::pair<std::string, std::string> claimed_and_completed() {
  record stored;
  stored.about = bench::make_claim().about;
  stored.state = record_state::in_progress;
  auto claimed = encode_record(stored);
  stored.state = record_state::completed;
  stored.answer = bench::make_answer();
  return {std::move(claimed), encode_record(stored)};
}

class cycles {
 public:
  cycles(const variant& kind, sq::connection& connection)
      : kind_(kind),
        connection_(connection),
        now_(connection.integer("SELECT coalesce(max(expires_at), 0) FROM records")),
        begin_(connection.prepare("BEGIN IMMEDIATE")),
        commit_(connection.prepare("COMMIT")),
        find_(connection.prepare(select + std::string(kind.where))),
        insert_(connection.prepare(insert_of(kind))),
        update_(connection.prepare("UPDATE records SET state = 4, expires_at = ?1, boot = 1, "
                                   "record = ?2 WHERE " +
                                   std::string(kind.row_key) + " = ?3")),
        meta_(connection.prepare("UPDATE meta SET token = ?1, granted = ?1, last_wall = ?1")) {
    if (!kind.merged) return;
    young_.emplace(connection);
    row_ = connection.prepare(select + std::string("id = ?2 AND digest = ?1"));
  }

  void run() {
    ++now_;
    begin_.run();
    for (auto& id : ids_) claim(id = random_id());
    meta_.bind(1, now_).run();
    commit_.run();
    begin_.run();
    for (const auto& id : ids_) settle(id);
    commit_.run();
  }

 private:
  static constexpr const char* select = "SELECT id, boot, record FROM records WHERE ";

  void claim(const record_id& id) {
    if (find(id)) std::abort();
    bind_id(insert_, kind_, id);
    insert_.bind(3, 2).bind_null(4).bind_blob(5, bytes_.first).run();
    if (young_) young_->add(id, sqlite3_last_insert_rowid(connection_.get()));
  }

  void settle(const record_id& id) {
    const auto row = find(id);
    if (!row) std::abort();
    update_.bind(1, now_).bind_blob(2, bytes_.second);
    if (kind_.row_key == "digest") {
      update_.bind(3, id).run();
    } else {
      update_.bind(3, *row).run();
    }
  }

  std::optional<std::int64_t> find(const record_id& id) {
    const auto number = young_ ? young_->find(id) : 0;
    auto& statement = number == 0 ? find_ : row_;
    const sq::resetting at_end(statement);
    bind_id(statement, kind_, id);
    if (number != 0) statement.bind(2, number);
    return statement.step() ? std::optional(statement.integer(0)) : std::nullopt;
  }

  const variant& kind_;
  sq::connection& connection_;
  const std::pair<std::string, std::string> bytes_ = claimed_and_completed();
  std::vector<record_id> ids_{batch};
  std::int64_t now_;
  sq::statement begin_, commit_, find_, row_{}, insert_, update_, meta_;
  std::optional<young_records> young_{};
};

void checkpoint(sq::connection& connection) {
  const int code = sqlite3_wal_checkpoint_v2(connection.get(), "main", SQLITE_CHECKPOINT_RESTART,
                                             nullptr, nullptr);
  if (code != SQLITE_OK) throw sq::failure(code, sqlite3_errmsg(connection.get()));
}

void run(const variant& kind, const char* path, std::size_t count) {
  const sq::wal_vfs layer(nullptr);
  auto connection = open(kind, path, layer.name());
  connection.run(
      "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY; "
      "PRAGMA journal_size_limit = 262144000");
  connection.run(("PRAGMA cache_size = -" + std::to_string(kind.cache_kib)).c_str());
  cycles work(kind, connection);
  constexpr int warm_up = 40;  // batches, after which SQLite's cache is full
  for (int i = 0; i < warm_up; ++i) work.run();
  checkpoint(connection);
  const auto start = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  const double bytes = bytes_written();
  for (std::size_t done = 0; done < count; done += batch) work.run();
  const double took = seconds_since(start);
  const double logged = bytes_written() - bytes;
  checkpoint(connection);
  const auto each = [count](double all) { return all / static_cast<double>(count); };
  std::printf("%.0f %.0f %.2f %.0f %.0f\n", 1 / each(took), 1 / each(seconds_since(start)),
              1e6 * each(cpu_seconds() - cpu), each(logged),
              each(bytes_written() - bytes - logged));
}

}  // namespace

int main(int argc, char** argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  if (argc == 2 && std::string_view(arguments[1]) == "list") {
    for (const auto& each : variants) std::printf("%s\n", each.name.data());
    return 0;
  }
  const auto* const kind = std::find_if(variants.begin(), variants.end(), [&](const variant& each) {
    return argc == 5 && each.name == arguments[1];
  });
  if (kind == variants.end()) {
    std::fprintf(stderr, "sqlite_index_bench VARIANT FILE fill RECORDS | run CYCLES; list\n");
    return 2;
  }
  if (std::string_view(arguments[3]) == "fill") {
    fill(*kind, arguments[2], std::stoll(arguments[4]));
  } else {
    run(*kind, arguments[2], std::stoul(arguments[4]));
  }
  return 0;
}
