#include "messaging/kafka/assignment.hpp"

#include <algorithm>

namespace onceguard::messaging::kafka {

void assignment::add(std::int32_t partition, partition_progress done) {
  shares_.insert_or_assign(partition, share{std::move(done), false});
}

void assignment::remove(std::int32_t partition) {
  shares_.erase(partition);
  std::erase_if(waiting_,
                [partition](const auto& each) { return each.second.raw->partition == partition; });
}

void assignment::clear() {
  shares_.clear();
  waiting_.clear();
}

std::optional<record> assignment::take(message_handle raw) {
  const auto found = shares_.find(raw->partition);
  if (found == shares_.end()) return std::nullopt;
  auto& [done, dirty] = found->second;
  if (!done.take(raw->offset)) {
    dirty = true;
    return std::nullopt;
  }
  return record{std::move(raw)};
}

std::optional<record> assignment::take_again(time_point now) {
  if (waiting_.empty() || waiting_.begin()->first > now) return std::nullopt;
  auto next = waiting_.extract(waiting_.begin());
  return std::move(next.mapped());
}

void assignment::settle(const rd_kafka_message_t& done) {
  auto& [handled, dirty] = shares_.at(done.partition);
  handled.settle(done.offset);
  dirty = true;
}

void assignment::give_back(record next, time_point due) { waiting_.emplace(due, std::move(next)); }

std::optional<assignment::time_point> assignment::next_due() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->first;
}

std::map<std::int32_t, std::int64_t> assignment::read_offsets() const {
  std::map<std::int32_t, std::int64_t> out;
  for (const auto& [partition, each] : shares_) out.emplace(partition, each.done.next());
  return out;
}

std::vector<commit_point> assignment::take_commits(std::size_t longest) {
  std::vector<commit_point> out;
  for (auto& [partition, each] : shares_) {
    if (!each.dirty) continue;
    // Clean as of what is sent: a refusal, or what is settled meanwhile, makes it dirty again.
    each.dirty = false;
    const auto offset = each.done.position();
    if (offset >= 0) out.push_back({partition, offset, each.done.note(longest)});
  }
  return out;
}

bool assignment::has_commits() const noexcept {
  return std::any_of(shares_.begin(), shares_.end(),
                     [](const auto& each) { return each.second.dirty; });
}

void assignment::uncommitted(std::int32_t partition) {
  const auto found = shares_.find(partition);
  if (found != shares_.end()) found->second.dirty = true;
}

void assignment::uncommitted_all() {
  for (auto& [partition, each] : shares_) each.dirty = true;
}

}  // namespace onceguard::messaging::kafka
