#include "execute/sqlite/caller_tables.hpp"

#include "base/clock.hpp"
#include "store/sealed/sealed_answer.hpp"
#include "store/sqlite/schema.hpp"

namespace onceguard::sqlite {
namespace {

std::string location_of(connection& connection) {
  const char* name = sqlite3_db_filename(connection.get(), "main");
  return name == nullptr || *name == '\0' ? "in memory" : name;
}

/// The application has no key of what an operator has moved here, encrypted.
result<verdict> as_legible(verdict seen) {
  if (!seen.answer || !sealed::is_sealed(*seen.answer)) return seen;
  return sealed::not_for_applications(*seen.answer);
}

}  // namespace

caller_tables::caller_tables(connection& connection)
    : connection_(connection),
      metadata_(connection, base::system_clock(), caller_prefix, location_of(connection)),
      table_(connection, std::string(caller_prefix)) {}

transaction caller_tables::begin() {
  // Tokens also grow by the clock: the database may be an older copy, and an attempt that was
  // rolled back has left no trace in it.
  return {metadata_, table_, static_cast<token>(base::wall_microseconds())};
}

result<verdict> caller_tables::peek(const claim& request) {
  const auto present = metadata_.read_clocks();
  const auto found = table_.load(request.id, present, {});
  if (!found) return found.error();
  const auto* stored = found->has_value() ? &(*found)->seen.stored : nullptr;
  return as_legible(decide(stored, request, present.now, 1).verdict);
}

result<claimed> caller_tables::take(const claim& request) {
  auto work = begin();
  auto decided = work.apply(request);
  if (!decided) return decided.error();
  auto reply = as_legible(std::move(*decided));
  if (!reply) return reply.error();
  work.finish();
  claimed out;
  out.verdict = std::move(*reply);
  if (out.verdict.kind == verdict_kind::run) out.progress = progress_of(request.id);
  return out;
}

result<settled> caller_tables::settle(const settlement& request) {
  auto work = begin();
  auto done = work.apply(request);
  if (!done) return done.error();
  work.finish();
  if (request.kind == settle_kind::complete && done->outcome != settle_outcome::stale) {
    auto clear = connection_.prepare(
        "UPDATE onceguard_records SET step = NULL, progress = NULL "
        "WHERE digest = ? AND step IS NOT NULL");
    clear.bind(1, request.id).run();
  }
  return done;
}

result<bool> caller_tables::save_progress(const extension& request, std::string_view step,
                                          std::string_view progress) {
  auto work = begin();
  auto held = work.apply(request);
  if (!held || !*held) return held;
  auto save =
      connection_.prepare("UPDATE onceguard_records SET step = ?, progress = ? WHERE digest = ?");
  save.bind(1, step).bind_blob(2, progress).bind(3, request.id).run();
  return true;
}

std::size_t caller_tables::sweep(std::size_t most) { return begin().sweep(most); }

std::string caller_tables::progress_of(const record_id& id) {
  auto load = connection_.prepare("SELECT progress FROM onceguard_records WHERE digest = ?");
  load.bind(1, id);
  return load.step() ? std::string(load.bytes(0)) : std::string();
}

}  // namespace onceguard::sqlite
