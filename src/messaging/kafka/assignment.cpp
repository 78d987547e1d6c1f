#include "messaging/kafka/assignment.hpp"

#include <algorithm>

#include "messaging/kafka/wire_message.hpp"

namespace onceguard::messaging::kafka {

void assignment::add(std::int32_t partition, progress done) {
  shares_.insert_or_assign(partition, share{std::move(done), false});
}

void assignment::remove(std::int32_t partition) {
  shares_.erase(partition);
  const auto of_it = [partition](const auto& each) {
    return each.second.raw->partition == partition;
  };
  std::erase_if(held_, of_it);
  std::erase_if(waiting_, of_it);
}

void assignment::clear() {
  shares_.clear();
  held_.clear();
  waiting_.clear();
}

std::optional<delivery> assignment::take(message_handle raw) {
  const auto found = shares_.find(raw->partition);
  if (found == shares_.end()) return std::nullopt;
  auto& [done, dirty] = found->second;
  if (!done.take(raw->offset)) {
    dirty = true;
    return std::nullopt;
  }
  return hand_out({std::move(raw), 0});
}

std::optional<delivery> assignment::take_again(time_point now) {
  if (waiting_.empty() || waiting_.begin()->first > now) return std::nullopt;
  auto next = waiting_.extract(waiting_.begin());
  return hand_out(std::move(next.mapped()));
}

delivery assignment::hand_out(record next) {
  delivery out;
  out.tag = ++last_tag_;
  out.count = ++next.count;
  out.received = message_of(*next.raw);
  held_.emplace(out.tag, std::move(next));
  return out;
}

const rd_kafka_message_t* assignment::held(std::uint64_t tag) const {
  const auto found = held_.find(tag);
  return found == held_.end() ? nullptr : found->second.raw.get();
}

void assignment::settle(std::uint64_t tag) {
  const auto found = held_.find(tag);
  if (found == held_.end()) return;
  auto& [done, dirty] = shares_.at(found->second.raw->partition);
  done.settle(found->second.raw->offset);
  dirty = true;
  held_.erase(found);
}

void assignment::give_back(std::uint64_t tag, time_point due) {
  auto found = held_.extract(tag);
  if (!found.empty()) waiting_.emplace(due, std::move(found.mapped()));
}

void assignment::give_back_all() {
  const auto now = base::boot_now();
  while (!held_.empty()) give_back(held_.begin()->first, now);
}

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
