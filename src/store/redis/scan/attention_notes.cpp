#include "store/redis/scan/attention_notes.hpp"

#include <set>
#include <utility>

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

bool unsettled(record_state state) noexcept { return state < record_state::completed; }

/// The records that may need a person, of those that are reported.
class attention_taker final : public scan_listener {
 public:
  /// `running`: also those whose lease is not over.
  explicit attention_taker(bool running) noexcept : running_(running) {}

  void begin() override { found.clear(); }
  void take(const listed& position, record_view view) override {
    const bool over = view.lease_left.count() <= 0;
    if (unsettled(view.stored.state) && (running_ || over)) found.insert(position.id);
  }
  void take_unreadable(const record_id& id, const std::string&) override { found.insert(id); }

  std::set<record_id> found;

 private:
  const bool running_;
};

std::optional<error> failure_of_notes(const std::vector<request>& done) {
  for (const auto& each : done) {
    if (each.failed) return each.failed;
  }
  return std::nullopt;
}

}  // namespace

awaitable<void> attention_notes::note(std::vector<record_id> ids, steady_time until) {
  std::vector<request> notes;
  for (const auto& id : ids) notes.push_back(add_note(pool_.names(), id));
  static_cast<void>(co_await send_all(pool_.queue(), std::move(notes), left_until(until)));
}

awaitable<result<std::vector<record_id>>> attention_notes::noted(steady_time until) {
  std::vector<request> questions;
  for (std::size_t part = 0; part < pool_.names().parts(); ++part) {
    questions.push_back(read_notes_of(pool_.names(), part));
  }
  const auto done = co_await send_all(pool_.queue(), std::move(questions), left_until(until));
  std::vector<record_id> out;
  for (const auto& each : done) {
    const auto found = read_outcome(each, read_notes);
    if (!found) co_return found.error();
    out.insert(out.end(), found->begin(), found->end());
  }
  co_return out;
}

awaitable<std::optional<error>> attention_notes::scan(steady_time until, scan_listener& listener) {
  listener.begin();
  auto ids = co_await noted(until);
  if (!ids) co_return ids.error();
  co_return co_await report_records(pool_, std::move(*ids), until, listener);
}

awaitable<std::optional<error>> attention_notes::sweep(steady_time pause_at, steady_time until) {
  auto here = [this] {
    const std::lock_guard lock(mutex_);
    return std::exchange(position_, {});
  }();
  if (here.left.empty()) here.left = pool_.servers();
  // One step at least: a server that was slow to say what it is would never be swept.
  for (bool first = true; !here.left.empty() && (first || base::boot_now() < pause_at);
       first = false) {
    const auto last = co_await sweep_some(here, until);
    if (!last) co_return last.error();  // the next sweep begins a new round
    if (!*last) continue;
    here.left.erase(here.left.begin());
    if (here.left.empty()) co_return co_await drop_notes(until);
  }
  const std::lock_guard lock(mutex_);
  position_ = std::move(here);
  co_return std::nullopt;
}

awaitable<result<bool>> attention_notes::sweep_some(position& here, steady_time until) {
  auto names = scan_names(pool_.names(), here.left.front(), here.cursor);
  const auto done = co_await send_one(pool_.queue(), std::move(names), left_until(until));
  auto step = read_outcome(done, read_names);
  if (!step) co_return step.error();
  std::vector<record_id> ids;
  std::vector<request> questions;
  for (const auto& name : step->names) {
    const auto id = pool_.names().id_of(name);
    if (!id) continue;
    ids.push_back(*id);
    questions.push_back(ask_for_state(pool_.names(), *id));
  }
  const auto states = co_await send_all(pool_.queue(), std::move(questions), left_until(until));
  std::vector<record_id> open;  // few: they run, or need a person
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto settled = read_outcome(states[i], is_settled);
    if (settled && *settled) continue;
    if (!settled && settled.error().code != errc::record_unreadable) co_return settled.error();
    open.push_back(ids[i]);
  }
  attention_taker over(false);
  const auto failed = co_await report_records(pool_, std::move(open), until, over);
  if (failed) co_return *failed;
  std::vector<request> notes;
  for (const auto& id : over.found) notes.push_back(add_note(pool_.names(), id));
  const auto noted = co_await send_all(pool_.queue(), std::move(notes), left_until(until));
  if (auto why = failure_of_notes(noted)) co_return std::move(*why);
  here.cursor = std::move(step->cursor);
  co_return here.cursor == "0";
}

/// A record that becomes unknown between the two steps may lose its note until the next round.
awaitable<std::optional<error>> attention_notes::drop_notes(steady_time until) {
  auto ids = co_await noted(until);
  if (!ids) co_return ids.error();
  attention_taker borne_out(true);
  if (auto why = co_await report_records(pool_, *ids, until, borne_out)) co_return why;
  std::vector<request> drops;
  for (const auto& id : *ids) {
    if (!borne_out.found.contains(id)) drops.push_back(drop_note(pool_.names(), id));
  }
  co_return failure_of_notes(co_await send_all(pool_.queue(), std::move(drops), left_until(until)));
}

}  // namespace onceguard::redis
