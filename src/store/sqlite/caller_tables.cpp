#include "store/sqlite/caller_tables.hpp"

#include "base/clock.hpp"
#include "store/sqlite/schema.hpp"

namespace onceguard::sqlite {
namespace {

std::string location_of(connection& on) {
  const char* name = sqlite3_db_filename(on.get(), "main");
  return name == nullptr || *name == '\0' ? "in memory" : name;
}

}  // namespace

caller_tables::caller_tables(connection& on)
    : on_(on),
      metadata_(on, base::system_clock(), caller_prefix, location_of(on)),
      table_(on, std::string(caller_prefix)) {}

transaction caller_tables::begin() {
  // Tokens grow by the clock too: this may be an older copy of the database, and an attempt that
  // was rolled back has left no trace of its own.
  return {metadata_, table_, static_cast<token>(base::wall_microseconds())};
}

result<verdict> caller_tables::look(const claim& asked) {
  const auto at = metadata_.read_clocks();
  const auto found = table_.load(asked.id, at.boot, {});
  if (!found) return found.error();
  const auto* stored = found->has_value() ? &(*found)->stored : nullptr;
  return decide(stored, asked, at.now, 1).verdict;
}

result<claimed> caller_tables::take(const claim& asked) {
  auto in = begin();
  auto told = in.apply(asked);
  if (!told) return told.error();
  in.finish();
  claimed out;
  out.told = std::move(*told);
  if (out.told.kind == verdict_kind::run) out.progress = progress_of(asked.id);
  return out;
}

result<settled> caller_tables::settle(const settlement& how) {
  auto in = begin();
  auto done = in.apply(how);
  if (!done) return done.error();
  in.finish();
  if (how.kind == settle_kind::complete && done->outcome != settle_outcome::stale) {
    auto clear = on_.prepare(
        "UPDATE onceguard_records SET step = NULL, progress = NULL "
        "WHERE digest = ? AND step IS NOT NULL");
    clear.bind(1, how.id).run();
  }
  return done;
}

result<bool> caller_tables::save_progress(const extension& how, std::string_view step,
                                          std::string_view progress) {
  auto in = begin();
  auto held = in.apply(how);
  if (!held || !*held) return held;
  auto save = on_.prepare("UPDATE onceguard_records SET step = ?, progress = ? WHERE digest = ?");
  save.bind(1, step).bind_blob(2, progress).bind(3, how.id).run();
  return true;
}

std::size_t caller_tables::sweep(std::size_t most) { return begin().sweep(most); }

std::string caller_tables::progress_of(const record_id& id) {
  auto load = on_.prepare("SELECT progress FROM onceguard_records WHERE digest = ?");
  load.bind(1, id);
  return load.step() ? std::string(load.bytes(0)) : std::string();
}

}  // namespace onceguard::sqlite
