#include "messaging/kafka/partition_progress.hpp"

#include <optional>
#include <utility>

#include "base/number_in.hpp"

namespace onceguard::messaging::kafka {
namespace {

/// "onceguard:1-3,7": the records 1 to 3 and 7 behind the committed offset are done.
constexpr std::string_view mark = "onceguard:";
/// Of records that a note may name: one that is none of ours may name any number.
constexpr std::int64_t most_in_note = 65'536;

std::optional<std::int64_t> number_in(std::string_view text) {
  return base::number_in<std::int64_t>(text, 0, most_in_note);
}

std::optional<std::pair<std::int64_t, std::int64_t>> range_in(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = number_in(text.substr(0, dash));
  const auto last = dash == text.npos ? first : number_in(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace

partition_progress::partition_progress(std::int64_t committed, std::string_view note)
    : next_(committed < 0 ? -1 : committed) {
  if (committed < 0 || !note.starts_with(mark)) return;
  note.remove_prefix(mark.size());
  while (!note.empty()) {
    const auto comma = note.find(',');
    const auto range = range_in(note.substr(0, comma));
    if (!range) return;
    for (auto i = range->first; i <= range->second; ++i) settled_.insert(committed + i);
    note = comma == note.npos ? std::string_view() : note.substr(comma + 1);
  }
}

bool partition_progress::take(std::int64_t offset) {
  if (open_.contains(offset)) return false;
  if (next_ >= 0 && offset < next_) {
    // The broker's log has become shorter, or the group was sent back: these are other records than
    // those that were done, or somebody wants them again.
    settled_.clear();
  }
  next_ = offset + 1;
  if (settled_.contains(offset)) return false;
  open_.insert(offset);
  return true;
}

void partition_progress::settle(std::int64_t offset) {
  if (open_.erase(offset) == 0) return;
  settled_.insert(offset);
  settled_.erase(settled_.begin(), settled_.lower_bound(position()));
}

std::int64_t partition_progress::position() const {
  if (!open_.empty()) return *open_.begin();
  auto out = next_;
  while (out >= 0 && settled_.contains(out)) ++out;
  return out;
}

std::string partition_progress::note(std::size_t longest) const {
  const auto begin = position();
  std::string out;
  for (auto next = settled_.lower_bound(begin); next != settled_.end();) {
    const auto first = *next;
    auto last = first;
    while (++next != settled_.end() && *next == last + 1) ++last;
    auto range = std::to_string(first - begin);
    if (last > first) range += '-' + std::to_string(last - begin);
    const auto before = out.empty() ? mark.size() : out.size() + 1;
    if (before + range.size() > longest || last - begin > most_in_note) break;
    if (out.empty()) {
      out = mark;
    } else {
      out += ',';
    }
    out += range;
  }
  return out;
}

}  // namespace onceguard::messaging::kafka
