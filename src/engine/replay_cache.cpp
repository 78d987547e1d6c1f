#include "engine/replay_cache.hpp"

#include "engine/held_bytes.hpp"

namespace onceguard {
namespace {

/// What an entry takes in memory, about: list and map nodes included.
std::size_t size_of(const fingerprint& print, const cached_replay& what) {
  const std::size_t entry = 400 + print.method.size();
  return what.answer ? entry + bytes_of(*what.answer) : entry;
}

}  // namespace

void replay_cache::shard::drop(std::list<entry>::iterator it) {
  bytes -= it->bytes;
  by_id.erase(it->id);
  recent.erase(it);
}

std::optional<cached_replay> replay_cache::find(const record_id& id, const fingerprint& print,
                                                time_point now) {
  if (suspended_.load(std::memory_order_acquire)) return std::nullopt;
  auto& s = shard_of(id);
  const std::lock_guard lock(s.mutex);
  const auto found = s.by_id.find(id);
  if (found == s.by_id.end()) return std::nullopt;
  const auto it = found->second;
  if (now >= it->ends || it->epoch != epoch()) {
    s.drop(it);
    return std::nullopt;
  }
  // Another fingerprint is for the store to judge.
  if (it->print != print) return std::nullopt;
  s.recent.splice(s.recent.begin(), s.recent, it);
  return it->what;
}

void replay_cache::put(const record_id& id, const fingerprint& print, cached_replay what,
                       time_point ends, std::uint64_t epoch) {
  const auto bytes = size_of(print, what);
  if (bytes > bytes_max_per_shard_ / 4) return;  // one answer must not push out all others
  auto& s = shard_of(id);
  const std::lock_guard lock(s.mutex);
  if (const auto found = s.by_id.find(id); found != s.by_id.end()) s.drop(found->second);
  while (!s.recent.empty() && s.bytes + bytes > bytes_max_per_shard_) {
    s.drop(std::prev(s.recent.end()));
  }
  s.recent.push_front(entry{id, print, std::move(what), ends, epoch, bytes});
  s.by_id.emplace(id, s.recent.begin());
  s.bytes += bytes;
}

void replay_cache::erase(const record_id& id) {
  auto& s = shard_of(id);
  const std::lock_guard lock(s.mutex);
  if (const auto found = s.by_id.find(id); found != s.by_id.end()) s.drop(found->second);
}

std::size_t replay_cache::bytes() const {
  std::size_t sum = 0;
  for (const auto& s : shards_) {
    const std::lock_guard lock(s.mutex);
    sum += s.bytes;
  }
  return sum;
}

}  // namespace onceguard
