#include "store/sqlite/metadata.hpp"

#include "base/log.hpp"

namespace onceguard::sqlite {
namespace {

constexpr std::int64_t time_kept_every = 60 * 60'000;

}  // namespace

metadata_table::metadata_table(connection& connection, const base::clock& clock,
                               std::string_view prefix, std::string location)
    : connection_(connection),
      clock_(clock),
      prefix_(prefix),
      location_(std::move(location)),
      read_meta_(connection.prepare("SELECT identity, token, granted, forgotten, last_wall FROM " +
                                    prefix_ + "meta")),
      write_meta_(
          connection.prepare("UPDATE " + prefix_ +
                             "meta SET token = ?, granted = ?, forgotten = ?, "
                             "last_wall = max(last_wall, ?)" +
                             (prefix_.empty() ? ", log_base = iif(?5, token, log_base), "
                                                "log_identity = iif(?5, identity, log_identity)"
                                              : ""))),
      // max(): the retention clock never goes back, whichever process stores it last.
      keep_time_(
          connection.prepare("UPDATE " + prefix_ + "meta SET last_wall = max(last_wall, ?)")),
      load_boot_(connection.prepare(
          "SELECT id, clock_offset, doubted, doubted_offset, doubted_since FROM " + prefix_ +
          "boots WHERE boot_id = ?")),
      store_boot_(connection.prepare("UPDATE " + prefix_ +
                                     "boots SET clock_offset = ?, doubted = ?, doubted_offset = ?, "
                                     "doubted_since = ? WHERE id = ?")) {}

meta metadata_table::read_meta() {
  const resetting at_end(read_meta_);
  if (!read_meta_.step()) throw failure(SQLITE_CORRUPT, "the table meta is empty");
  meta out;
  out.identity = read_meta_.bytes(0);
  out.last_token = static_cast<token>(read_meta_.integer(1));
  out.granted = static_cast<std::uint64_t>(read_meta_.integer(2));
  out.forgotten = static_cast<std::uint64_t>(read_meta_.integer(3));
  out.last_wall = read_meta_.integer(4);
  return out;
}

void metadata_table::write_meta(const meta& now) {
  write_meta_.bind(1, static_cast<std::int64_t>(now.last_token))
      .bind(2, static_cast<std::int64_t>(now.granted))
      .bind(3, static_cast<std::int64_t>(now.forgotten))
      .bind(4, guard_.retention_time(clock_.boot_ms()));
  if (prefix_.empty()) write_meta_.bind(5, std::int64_t{begins_log_});
  write_meta_.run();
  begins_log_ = false;
}

bool metadata_table::load_boot() {
  const resetting at_end(load_boot_);
  load_boot_.bind(1, std::string_view(boot_id_));
  if (!load_boot_.step()) return false;
  boot_ = load_boot_.integer(0);
  kept_.offset = load_boot_.integer(1);
  kept_.unconfirmed = load_boot_.integer(2) != 0;
  kept_.unconfirmed_offset = load_boot_.integer(3);
  kept_.unconfirmed_since_boot = load_boot_.integer(4);
  guard_ = wall_guard(kept_);
  return true;
}

void metadata_table::store_boot() {
  kept_ = guard_.memory();
  store_boot_.bind(1, kept_.offset)
      .bind(2, std::int64_t{kept_.unconfirmed})
      .bind(3, kept_.unconfirmed_offset)
      .bind(4, kept_.unconfirmed_since_boot)
      .bind(5, boot_)
      .run();
}

void metadata_table::enter_boot() {
  boot_id_ = clock_.boot_id();
  const auto last = read_meta().last_wall;
  kept_time_ = last;
  if (load_boot()) return;
  const auto wall = clock_.wall_ms();
  auto add = connection_.prepare("INSERT INTO " + prefix_ + "boots VALUES (NULL, ?, 0, 0, 0, 0)");
  add.bind(1, std::string_view(boot_id_)).run();
  boot_ = sqlite3_last_insert_rowid(connection_.get());
  guard_ = wall_guard::after_boot(last, clock_.boot_ms(), wall);
  store_boot();
  // Earlier boots are no longer needed. Their ids are not used again.
  auto forget = connection_.prepare("DELETE FROM " + prefix_ + "boots WHERE id < ?");
  forget.bind(1, boot_).run();
}

moment metadata_table::update_clocks() {
  if (clock_.boot_id() != boot_id_) enter_boot();
  auto now = onceguard::read_clocks(clock_, guard_);
  if (guard_.memory() != kept_ || kept_.unconfirmed) {
    static_cast<void>(load_boot());  // another process may have stored more
    now = onceguard::read_clocks(clock_, guard_);
    if (guard_.memory() != kept_) {
      store_boot();
      base::log(kept_.unconfirmed ? base::event::clock_stepped : base::event::clock_confirmed,
                {{"store", location_}});
    }
  }
  if (now.wall - kept_time_ >= time_kept_every) keep_time(now.wall);
  return moment_of(now, boot_);
}

/// After a reboot, retention continues from the stored time, even if nothing was claimed for long.
void metadata_table::keep_time(std::int64_t now) {
  keep_time_.bind(1, now).run();
  kept_time_ = now;
}

moment metadata_table::read_clocks() {
  boot_id_ = clock_.boot_id();
  if (!load_boot()) {
    // No process has written since the machine started: no lease is left, and nothing expires yet.
    boot_id_.clear();  // the next transaction that writes stores the boot
    const auto last = read_meta().last_wall;
    instant now;
    now.lease = clock_.boot_ms();
    now.wall = last == 0 ? clock_.wall_ms() : last;
    now.expiry_paused = true;
    return moment_of(now, 0);
  }
  return moment_of(onceguard::read_clocks(clock_, guard_), boot_);
}

moment metadata_table::moment_of(const instant& now, std::int64_t boot) const {
  return {now, boot, wall_ahead(clock_, now)};
}

}  // namespace onceguard::sqlite
