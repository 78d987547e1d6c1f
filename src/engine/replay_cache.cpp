#include "engine/replay_cache.hpp"

#include <cstring>
#include <iterator>
#include <mutex>

#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <boost/multi_index_container.hpp>

#include "engine/held_bytes.hpp"

namespace onceguard {
namespace {

namespace multi_index = boost::multi_index;

struct entry {
  record_id id;
  fingerprint print;
  cached_replay what;
  replay_cache::time_point ends;
  std::uint64_t epoch;
  std::size_t bytes;
};

struct id_hash {
  std::size_t operator()(const record_id& id) const noexcept {
    std::size_t h = 0;
    std::memcpy(&h, id.data() + 1, sizeof h);  // a digest is as good as any hash
    return h;
  }
};

struct by_id {};
struct by_age {};  // front: the latest
using entries = boost::multi_index_container<
    entry, multi_index::indexed_by<multi_index::hashed_unique<
                                       multi_index::tag<by_id>,
                                       multi_index::member<entry, record_id, &entry::id>, id_hash>,
                                   multi_index::sequenced<multi_index::tag<by_age>>>>;

/// What an entry takes in memory, about.
std::size_t size_of(const fingerprint& print, const cached_replay& what) {
  const std::size_t entry = 300 + print.method.size();
  return what.answer ? entry + bytes_of(*what.answer) : entry;
}

}  // namespace

struct replay_cache::shard {
  std::mutex mutex;
  entries all;
  std::size_t bytes = 0;

  void drop(entries::iterator it) {
    bytes -= it->bytes;
    all.erase(it);
  }
};

replay_cache::replay_cache(std::size_t bytes_max)
    : shards_(std::make_unique<shard[]>(shards)), bytes_max_per_shard_(bytes_max / shards) {}

replay_cache::~replay_cache() = default;

replay_cache::shard& replay_cache::shard_of(const record_id& id) const noexcept {
  return shards_[id[0] % shards];
}

std::optional<cached_replay> replay_cache::find(const record_id& id, const fingerprint& print,
                                                time_point now) {
  if (suspended_.load(std::memory_order_acquire)) return std::nullopt;
  auto& s = shard_of(id);
  const std::lock_guard lock(s.mutex);
  const auto found = s.all.find(id);
  if (found == s.all.end()) return std::nullopt;
  if (now >= found->ends || found->epoch != epoch()) {
    s.drop(found);
    return std::nullopt;
  }
  // Another fingerprint is for the store to judge.
  if (found->print != print) return std::nullopt;
  auto& aged = s.all.get<by_age>();
  aged.relocate(aged.begin(), s.all.project<by_age>(found));
  return found->what;
}

void replay_cache::put(const record_id& id, const fingerprint& print, cached_replay what,
                       time_point ends, std::uint64_t epoch) {
  const auto bytes = size_of(print, what);
  if (bytes > bytes_max_per_shard_ / 4) return;  // one answer must not push out all others
  auto& s = shard_of(id);
  const std::lock_guard lock(s.mutex);
  if (const auto found = s.all.find(id); found != s.all.end()) s.drop(found);
  auto& aged = s.all.get<by_age>();
  while (!aged.empty() && s.bytes + bytes > bytes_max_per_shard_) {
    s.drop(s.all.project<by_id>(std::prev(aged.end())));
  }
  aged.push_front(entry{id, print, std::move(what), ends, epoch, bytes});
  s.bytes += bytes;
}

void replay_cache::erase(const record_id& id) {
  auto& s = shard_of(id);
  const std::lock_guard lock(s.mutex);
  if (const auto found = s.all.find(id); found != s.all.end()) s.drop(found);
}

std::size_t replay_cache::bytes() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < shards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    sum += shards_[i].bytes;
  }
  return sum;
}

}  // namespace onceguard
