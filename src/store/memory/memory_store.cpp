#include "store/memory/memory_store.hpp"

#include <algorithm>
#include <array>

#include "base/hex.hpp"
#include "base/number_in.hpp"
#include "base/random.hpp"
#include "store/imported_record.hpp"
#include "store/record_errors.hpp"
#include "store/record_view.hpp"

namespace onceguard {
namespace {

using boost::asio::awaitable;

error stopped() { return error(errc::stopped, "memory store: it was stopped"); }

}  // namespace

memory_store::memory_store(const base::clock& clock)
    : clock_(clock),
      guard_(wall_guard::after_boot(0, clock.boot_ms(), clock.wall_ms())),
      // Tokens go on from those of earlier processes, which the application may have seen.
      last_token_(static_cast<token>(clock.wall_ms()) * 1'000) {
  std::array<unsigned char, 16> identity{};
  base::random_bytes(identity);
  vitals_.identity = base::to_hex(identity);
}

store_traits memory_store::traits() const { return memory_store_kind().traits; }

const record* memory_store::find_record(const record_id& id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second.stored;
}

void memory_store::put(const record_id& id, record stored) {
  // A record that is written again keeps its number: a listing under way sees it once.
  const auto [added_record, added] = records_.try_emplace(id);
  if (added) {
    added_record->second.number = next_number_++;
    order_.emplace(added_record->second.number, id);
  }
  added_record->second.stored = std::move(stored);
}

result<verdict> memory_store::apply(const onceguard::claim& request, const instant& now) {
  if (!request.about) return subject_missing();
  auto decided = decide(find_record(request.id), request, now, last_token_ + 1);
  if (decided.write) {
    last_token_ = std::max(last_token_, decided.write->token);
    ++vitals_.generation;
    put(request.id, std::move(*decided.write));
  }
  return std::move(decided.verdict);
}

result<settled> memory_store::apply(const settlement& request, const instant& now) {
  auto decided = decide_settle(find_record(request.id), request, now);
  if (decided.write) {
    if (!decided.write->about) return subject_missing();
    put(request.id, std::move(*decided.write));
  }
  return std::move(decided.result);
}

result<bool> memory_store::apply(const extension& request, const instant& now) {
  auto decided = decide_extension(find_record(request.id), request, now);
  if (decided.write) put(request.id, std::move(*decided.write));
  return !decided.stale;
}

template <class Outcome, class Item>
std::vector<result<Outcome>> memory_store::apply_all(const std::vector<Item>& batch) {
  std::vector<result<Outcome>> out;
  out.reserve(batch.size());
  const std::lock_guard lock(mutex_);
  // Under the lock: a later decision has no earlier time.
  const auto now = read_clocks(clock_, guard_);
  for (const auto& item : batch) {
    if (stopped_) {
      out.emplace_back(stopped());
    } else {
      out.push_back(apply(item, now));
    }
  }
  return out;
}

awaitable<std::vector<result<verdict>>> memory_store::claim(std::vector<onceguard::claim> batch,
                                                            milliseconds) {
  co_return apply_all<verdict>(batch);
}

awaitable<std::vector<result<settled>>> memory_store::settle(std::vector<settlement> batch,
                                                             milliseconds) {
  co_return apply_all<settled>(batch);
}

awaitable<std::vector<result<bool>>> memory_store::extend(std::vector<extension> batch,
                                                          milliseconds) {
  co_return apply_all<bool>(batch);
}

awaitable<result<resolve_decision>> memory_store::resolve(resolution request, milliseconds) {
  const std::lock_guard lock(mutex_);
  if (stopped_) co_return stopped();
  const auto now = read_clocks(clock_, guard_);
  auto decided = decide_resolution(find_record(request.id), request, now);
  if (decided.forgets_answer) ++vitals_.forgotten;
  if (decided.write) put(request.id, *decided.write);
  co_return decided;
}

awaitable<result<std::optional<record_view>>> memory_store::find(record_id id, milliseconds) {
  const std::lock_guard lock(mutex_);
  if (stopped_) co_return stopped();
  const auto now = read_clocks(clock_, guard_);
  const auto* stored = find_record(id);
  std::optional<record_view> out;
  if (stored != nullptr && !expired(*stored, now))
    out = make_view(id, *stored, now, wall_ahead(clock_, now));
  co_return out;
}

awaitable<result<list_page>> memory_store::list(list_filter filter, std::string cursor,
                                                std::size_t limit, milliseconds) {
  const auto after = base::number_in<std::uint64_t>(cursor.empty() ? "0" : cursor);
  if (!after) {
    co_return error(errc::invalid_argument, "list: this cursor was not given by this store");
  }
  const std::lock_guard lock(mutex_);
  if (stopped_) co_return stopped();
  const auto now = read_clocks(clock_, guard_);
  list_page page;
  for (auto it = order_.upper_bound(*after); it != order_.end(); ++it) {
    if (page.records.size() >= limit) {
      page.cursor = std::to_string(std::prev(it)->first);
      break;
    }
    const auto& stored = records_.at(it->second).stored;
    if (expired(stored, now)) continue;
    auto view = make_view(it->second, stored, now, wall_ahead(clock_, now));
    if (matches(filter, view)) page.records.push_back(std::move(view));
  }
  co_return page;
}

awaitable<result<counts>> memory_store::count(std::string, milliseconds) {
  const std::lock_guard lock(mutex_);
  if (stopped_) co_return stopped();
  const auto now = read_clocks(clock_, guard_);
  counts out;
  for (const auto& [id, kept] : records_) {
    if (expired(kept.stored, now)) continue;
    ++out.by_state[static_cast<std::size_t>(observe(kept.stored, now))];
  }
  co_return out;
}

awaitable<result<import_outcome>> memory_store::import_record(imported_record request,
                                                              milliseconds) {
  if (!request.stored.about) co_return subject_missing();
  if (request.recovery) co_return recovery_refused("memory");
  const std::lock_guard lock(mutex_);
  if (stopped_) co_return stopped();
  const auto now = read_clocks(clock_, guard_);
  auto decided = decide_import(find_record(request.id), request, now);
  if (decided.write) {
    last_token_ = token_above(last_token_, decided.write->token, now);
    put(request.id, std::move(*decided.write));
  }
  co_return decided.outcome;
}

awaitable<result<std::size_t>> memory_store::sweep(std::size_t limit, milliseconds) {
  const std::lock_guard lock(mutex_);
  if (stopped_) co_return stopped();
  const auto now = read_clocks(clock_, guard_);
  std::size_t gone = 0;
  for (auto it = records_.begin(); it != records_.end() && gone < limit;) {
    if (!expired(it->second.stored, now)) {
      ++it;
      continue;
    }
    order_.erase(it->second.number);
    it = records_.erase(it);
    ++gone;
  }
  co_return gone;
}

awaitable<result<onceguard::vitals>> memory_store::vitals(milliseconds) {
  const std::lock_guard lock(mutex_);
  if (stopped_) co_return stopped();
  co_return vitals_;
}

void memory_store::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

}  // namespace onceguard
