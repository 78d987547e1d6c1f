#include "engine/replay_cache.hpp"

#include <cstring>
#include <iterator>
#include <list>
#include <mutex>

#include <boost/unordered/unordered_flat_map.hpp>

#include "engine/held_bytes.hpp"

namespace onceguard {
namespace {

struct entry {
  record_id id;
  fingerprint print;
  cached_replay replay;
  replay_cache::time_point ends;
  std::uint64_t epoch;
  std::size_t bytes;
};

struct id_hash {
  using is_avalanching = void;
  std::size_t operator()(const record_id& id) const noexcept {
    std::size_t h = 0;
    std::memcpy(&h, id.data() + 1, sizeof h);  // a digest is as good as any hash
    return h;
  }
};

using entries = std::list<entry>;  // front: the most recently used

/// An upper estimate of the memory that an entry takes, with its nodes in the list and the index.
std::size_t size_of(const fingerprint& print, const cached_replay& replay) {
  const std::size_t entry = 400 + print.method.size();
  return replay.answer ? entry + bytes_of(*replay.answer) : entry;
}

}  // namespace

struct replay_cache::shard {
  std::mutex mutex;
  entries recent;
  // Nearly all look-ups find nothing. A flat map answers them without touching a node.
  boost::unordered_flat_map<record_id, entries::iterator, id_hash> by_id;
  std::size_t bytes = 0;

  void drop(entries::iterator it) {
    bytes -= it->bytes;
    by_id.erase(it->id);
    recent.erase(it);
  }
};

replay_cache::replay_cache(std::size_t bytes_max)
    : shards_(std::make_unique<shard[]>(shards)), bytes_max_per_shard_(bytes_max / shards) {}

replay_cache::~replay_cache() = default;

replay_cache::shard& replay_cache::shard_of(const record_id& id) const noexcept {
  // The hash leaves the first byte out: within a shard it would have few values.
  return shards_[id[0] % shards];
}

replay_cache::extent replay_cache::size() const {
  extent out;
  for (std::size_t i = 0; i < shards; ++i) {
    auto& s = shards_[i];
    const std::lock_guard lock(s.mutex);
    out.answers += s.by_id.size();
    out.bytes += s.bytes;
  }
  return out;
}

std::optional<cached_replay> replay_cache::find(const record_id& id, const fingerprint& print,
                                                time_point now) {
  // Read before the epoch. With the order of poll_now(), whoever sees the later end sees the epoch
  // that was begun before it.
  if (now.time_since_epoch().count() >= trusted_until_.load(std::memory_order_acquire)) {
    return std::nullopt;
  }
  auto& s = shard_of(id);
  const std::lock_guard lock(s.mutex);
  const auto found = s.by_id.find(id);
  if (found == s.by_id.end()) return std::nullopt;
  const auto it = found->second;
  if (now >= it->ends || it->epoch != epoch()) {
    s.drop(it);
    return std::nullopt;
  }
  // Only the store decides on a request with another fingerprint.
  if (it->print != print) return std::nullopt;
  s.recent.splice(s.recent.begin(), s.recent, it);
  return it->replay;
}

void replay_cache::put(const record_id& id, const fingerprint& print, cached_replay replay,
                       time_point ends, std::uint64_t epoch) {
  const auto bytes = size_of(print, replay);
  if (bytes > bytes_max_per_shard_ / 4) return;  // one answer must not push out all others
  auto& s = shard_of(id);
  const std::lock_guard lock(s.mutex);
  if (const auto found = s.by_id.find(id); found != s.by_id.end()) s.drop(found->second);
  while (!s.recent.empty() && s.bytes + bytes > bytes_max_per_shard_) {
    s.drop(std::prev(s.recent.end()));
  }
  s.recent.push_front(entry{id, print, std::move(replay), ends, epoch, bytes});
  s.by_id.emplace(id, s.recent.begin());
  s.bytes += bytes;
}

}  // namespace onceguard
