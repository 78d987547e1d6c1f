#include "store/sqlite/application_store.hpp"

#include <mutex>

#include "base/clock.hpp"
#include "base/number_in.hpp"
#include "store/record_view.hpp"
#include "store/sqlite/location.hpp"
#include "store/sqlite/metadata.hpp"
#include "store/sqlite/record_table.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/transaction.hpp"

namespace onceguard::sqlite {
namespace {

using boost::asio::awaitable;

constexpr std::size_t examined_max = 20'000;

error claims_refused() {
  return error(errc::conflict,
               "sqlite: these records belong to an application, which alone may claim them; a "
               "gateway needs a file of its own");
}

/// What a query reads of a record.
constexpr auto select_records =
    "SELECT id, digest, boot, record, step, progress FROM onceguard_records ";
enum column : int { at_number, at_digest, at_boot, at_record, at_step, at_progress };

class application_store final : public store {
 public:
  explicit application_store(const sqlite_params& params)
      : params_(params),
        connection_(params.path, params.vfs, open_as::writer),
        metadata_(connection_, *params.clock, caller_prefix, params.path),
        table_(connection_, std::string(caller_prefix)),
        find_(connection_.prepare(std::string(select_records) + "WHERE digest = ?")),
        walk_(connection_.prepare(std::string(select_records) + "WHERE id > ? ORDER BY id")),
        save_(connection_.prepare(
            "UPDATE onceguard_records SET step = ?, progress = ? WHERE digest = ?")) {
    sqlite3_busy_timeout(connection_.get(), static_cast<int>(params.timeout.count()));
    // With WAL and NORMAL, SQLite flushes no commit: a power cut would undo what was acknowledged.
    connection_.run("PRAGMA synchronous = FULL");
  }

  [[nodiscard]] store_traits traits() const override {
    store_traits out;
    out.name = "sqlite";
    out.transactional = true;
    return out;
  }

  awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                milliseconds) override {
    co_return std::vector<result<verdict>>(batch.size(), claims_refused());
  }
  awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                 milliseconds) override {
    co_return std::vector<result<settled>>(batch.size(), claims_refused());
  }
  awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch, milliseconds) override {
    co_return std::vector<result<bool>>(batch.size(), claims_refused());
  }

  awaitable<result<resolve_decision>> resolve(resolution request, milliseconds) override {
    co_return write<resolve_decision>([&](transaction& work) {
      auto decided = work.apply(request);
      if (decided && decided->write && decided->write->state >= record_state::completed) {
        save(request.id, std::nullopt);
      }
      return decided;
    });
  }

  awaitable<result<import_outcome>> import_record(imported_record request, milliseconds) override {
    co_return write<import_outcome>([&](transaction& work) {
      auto outcome = work.apply(request);
      if (outcome && *outcome == import_outcome::imported) save(request.id, request.recovery);
      return outcome;
    });
  }

  awaitable<result<std::size_t>> sweep(std::size_t limit, milliseconds) override {
    co_return write<std::size_t>(
        [&](transaction& work) { return result<std::size_t>(work.sweep(limit)); });
  }

  awaitable<result<std::optional<record_view>>> find(record_id id, milliseconds) override {
    using found = std::optional<record_view>;
    co_return read<found>([&](const moment& present) -> result<found> {
      const resetting at_end(find_);
      find_.bind(1, id);
      if (!find_.step()) return found();
      return view_of(find_, present);
    });
  }

  awaitable<result<list_page>> list(list_filter filter, std::string cursor, std::size_t limit,
                                    milliseconds) override {
    co_return read<list_page>([&](const moment& present) -> result<list_page> {
      list_page page;
      auto rest = walk(cursor, present, [&](const record_id& id, auto seen) {
        if (!seen) {
          page.unreadable.push_back({id, seen.error().detail});
        } else if (*seen && matches(filter, **seen)) {
          page.records.push_back(std::move(**seen));
        }
        return page.records.size() < limit;
      });
      if (!rest) return rest.error();
      page.cursor = std::move(*rest);
      return page;
    });
  }

  awaitable<result<counts>> count(std::string cursor, milliseconds) override {
    co_return read<counts>([&](const moment& present) -> result<counts> {
      counts out;
      auto rest = walk(cursor, present, [&](const record_id&, const auto& seen) {
        if (!seen) {
          ++out.unreadable;
        } else if (*seen) {
          ++out.by_state[static_cast<std::size_t>((*seen)->state)];
        }
        return true;
      });
      if (!rest) return rest.error();
      out.cursor = std::move(*rest);
      return out;
    });
  }

  awaitable<result<onceguard::vitals>> vitals(milliseconds) override {
    co_return read<onceguard::vitals>([&](const moment&) {
      const auto now = metadata_.read_meta();
      onceguard::vitals out;
      out.identity = now.identity;
      out.generation = now.granted;
      out.forgotten = now.forgotten;
      return result<onceguard::vitals>(std::move(out));
    });
  }

  void stop() override {}

 private:
  /// Calls `act` in a transaction that writes.
  template <class T, class Act>
  result<T> write(Act act) {
    const std::lock_guard lock(mutex_);
    bool committing = false;
    try {
      // Not DEFERRED: a transaction that has read and then wants to write fails at once, whatever
      // the busy timeout, if another process wrote in between (SQLITE_BUSY_SNAPSHOT).
      connection_.run("BEGIN IMMEDIATE");
      transaction work(metadata_, table_, static_cast<token>(base::wall_microseconds()));
      auto out = act(work);
      work.finish();
      committing = true;
      connection_.run("COMMIT");
      return out;
    } catch (const failure& failed) {
      connection_.roll_back();
      metadata_.rolled_back();
      return to_error(failed, params_.path, committing ? effect::unknown : effect::none);
    }
  }

  /// Calls `act` in a transaction that only reads.
  template <class T, class Act>
  result<T> read(Act act) {
    const std::lock_guard lock(mutex_);
    try {
      connection_.run("BEGIN");
      auto out = act(metadata_.read_clocks());
      connection_.roll_back();
      return out;
    } catch (const failure& failed) {
      connection_.roll_back();
      return to_error(failed, params_.path, effect::none);
    }
  }

  /// Calls `visit` with the records behind the cursor until it returns false. Returns the cursor
  /// for the rest; empty: there is none.
  template <class Visit>
  result<std::string> walk(const std::string& cursor, const moment& present, Visit visit) {
    const auto behind = base::number_in<std::int64_t>(cursor.empty() ? "0" : cursor);
    if (!behind) return error(errc::invalid_argument, "this cursor was not given by this store");
    auto after = *behind;
    const resetting at_end(walk_);
    walk_.bind(1, after);
    for (std::size_t examined = 0; walk_.step(); ++examined) {
      if (examined == examined_max) return std::to_string(after);
      after = walk_.integer(at_number);
      if (!visit(id_from(walk_.bytes(at_digest)), view_of(walk_, present))) {
        return std::to_string(after);
      }
    }
    return std::string();
  }

  /// None: the record has expired.
  static result<std::optional<record_view>> view_of(const statement& row, const moment& present) {
    auto read = read_record(row.bytes(at_record), row.integer(at_boot), present);
    if (!read) return read.error();
    if (expired(read->stored, present.now)) return std::optional<record_view>();
    auto out = make_view(id_from(row.bytes(at_digest)), std::move(read->stored), present.now,
                         present.wall_ahead, read->revision);
    if (const auto step = row.bytes(at_step); !step.empty()) {
      out.recovery = recovery_point{std::string(step), std::string(row.bytes(at_progress))};
    }
    return std::optional(std::move(out));
  }

  void save(const record_id& id, const std::optional<recovery_point>& recovery) {
    if (recovery) {
      save_.bind(1, std::string_view(recovery->step)).bind_blob(2, recovery->progress);
    } else {
      save_.bind_null(1).bind_null(2);
    }
    save_.bind(3, id).run();
  }

  const sqlite_params params_;
  std::mutex mutex_;
  connection connection_;
  metadata_table metadata_;
  record_table table_;
  statement find_, walk_, save_;
};

}  // namespace

bool has_application_records(const std::string& path) {
  if (size_of(path) == 0) return false;
  try {
    connection connection(path, nullptr, open_as::reader);
    return caller_tables_version(connection) > 0;
  } catch (const failure&) {
    return false;  // whoever opens it learns why
  }
}

result<std::unique_ptr<store>> open_application_store(const sqlite_params& params) {
  if (auto location = check_location(params.path); !location) return location.error();
  try {
    connection opened(params.path, params.vfs, open_as::writer);
    sqlite3_busy_timeout(opened.get(), static_cast<int>(params.timeout.count()));
    opened.run("BEGIN IMMEDIATE");
    const auto version = caller_tables_version(opened);
    if (version > caller_version) {
      return refuse(params.path, "has tables onceguard_… of a newer version of onceguard");
    }
    if (version < caller_version) make_caller_tables(opened);
    opened.run("COMMIT");
    return std::unique_ptr<store>(std::make_unique<application_store>(params));
  } catch (const failure& failed) {
    return to_error(failed, params.path, effect::none);
  }
}

}  // namespace onceguard::sqlite
