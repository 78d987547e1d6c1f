#include "store/sqlite/own_tables.hpp"

#include "base/clock.hpp"
#include "store/sqlite/schema.hpp"

namespace onceguard::sqlite {
namespace {

std::string place_of(connection& on) {
  const char* name = sqlite3_db_filename(on.get(), "main");
  return name == nullptr || *name == '\0' ? "in memory" : name;
}

}  // namespace

own_tables::own_tables(connection& on)
    : on_(on),
      books_(on, base::system_clock(), own_prefix, place_of(on)),
      table_(on, std::string(own_prefix)) {}

transaction own_tables::begin() {
  // Tokens grow by the clock too: this may be an older copy of the database, and an attempt that
  // was rolled back has left no trace of its own.
  return {books_, table_, static_cast<token>(base::wall_microseconds())};
}

result<verdict> own_tables::look(const claim& asked) {
  const auto at = books_.look_at_clocks_only();
  const auto found = table_.load(asked.id, at.boot, {});
  if (!found) return found.error();
  const auto* stored = found->has_value() ? &(*found)->stored : nullptr;
  return decide(stored, asked, at.now, 1).verdict;
}

result<claimed> own_tables::take(const claim& asked) {
  auto in = begin();
  auto told = in.apply(asked);
  if (!told) return told.error();
  in.finish();
  claimed out;
  out.told = std::move(*told);
  if (out.told.kind == verdict_kind::run) out.progress = progress_of(asked.id);
  return out;
}

result<settled> own_tables::settle(const settlement& how) {
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

result<bool> own_tables::save_progress(const extension& how, std::string_view step,
                                       std::string_view progress) {
  auto in = begin();
  auto held = in.apply(how);
  if (!held || !*held) return held;
  auto save = on_.prepare("UPDATE onceguard_records SET step = ?, progress = ? WHERE digest = ?");
  save.bind(1, step).bind_blob(2, progress).bind(3, how.id).run();
  return true;
}

std::size_t own_tables::sweep(std::size_t most) { return begin().sweep(most); }

std::string own_tables::progress_of(const record_id& id) {
  auto load = on_.prepare("SELECT progress FROM onceguard_records WHERE digest = ?");
  load.bind(1, id);
  return load.step() ? std::string(load.bytes(0)) : std::string();
}

}  // namespace onceguard::sqlite
