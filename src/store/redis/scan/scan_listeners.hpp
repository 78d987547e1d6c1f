// What a list and a count take of the records that a scan reports.
#pragma once
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "store/record_view.hpp"
#include "store/redis/scan/full_scan.hpp"

namespace onceguard::redis {

/// Collects the first records after a cursor.
class page_listener final : public scan_listener {
 public:
  page_listener(const list_filter& filter, const listed& after, std::size_t limit)
      : filter_(filter), after_(after), limit_(limit) {}

  void begin() override {
    found_.clear();
    unreadable_.clear();
    more_ = false;
  }
  void take(const listed& position, record_view view) override {
    if (position <= after_ || !matches(filter_, view)) return;
    found_.insert_or_assign(position, std::move(view));
    if (found_.size() <= limit_) return;
    found_.erase(std::prev(found_.end()));
    more_ = true;
  }
  void take_unreadable(const record_id& id, const std::string& why) override {
    unreadable_.insert_or_assign(id, why);
  }
  [[nodiscard]] const std::map<record_id, std::string>& unreadable() const { return unreadable_; }
  [[nodiscard]] list_page page() {
    list_page out;
    // Unreadable records have no position in the order. They come once, on the first page.
    if (after_ == listed()) {
      for (const auto& [id, why] : unreadable_) out.unreadable.push_back({id, why});
    }
    if (more_ && !found_.empty()) out.cursor = cursor_of(found_.rbegin()->first);
    for (auto& [position, view] : found_) out.records.push_back(std::move(view));
    return out;
  }

 private:
  const list_filter& filter_;
  const listed after_;
  const std::size_t limit_;
  std::map<listed, record_view> found_;
  std::map<record_id, std::string> unreadable_;
  bool more_ = false;
};

class count_listener final : public scan_listener {
 public:
  void begin() override { seen_.clear(); }
  void take(const listed& position, record_view view) override {
    seen_[position.id] = static_cast<std::size_t>(view.state);
  }
  void take_unreadable(const record_id& id, const std::string&) override { seen_[id] = 0; }
  [[nodiscard]] counts counted() const {
    counts out;
    for (const auto& [id, state] : seen_) ++(state == 0 ? out.unreadable : out.by_state[state]);
    return out;
  }

 private:
  std::map<record_id, std::size_t> seen_;  // the state; 0: unreadable
};

}  // namespace onceguard::redis
