// A disk in memory for the files of a journal: each act on it can be made to fail, and after a
// power cut it has what was flushed, and any part of what was not. The tests of the journal have it
// alone.
#pragma once
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/journal/file_layer.hpp"

namespace onceguard::sim {

class simulated_disk {
 public:
  enum class fault : std::uint8_t {
    once,   ///< one act fails, and the next one succeeds
    lasts,  ///< all acts that need room fail from then on
    cut,    ///< power is gone: all acts fail from then on
  };

  enum class act_kind : std::uint8_t { grow, flush, other };
  /// Is called at each act, and says with what errno it fails; 0: it is carried out. It may not use
  /// the disk.
  void on_act(std::function<int(act_kind)> listener) {
    const std::lock_guard locked(lock_);
    listener_ = std::move(listener);
  }
  /// The act after `acts` more ones fails with `number`.
  void fail_after(std::uint64_t acts, int number, fault kind) {
    const std::lock_guard locked(lock_);
    fault_at_ = acts_ + acts;
    number_ = number;
    kind_ = kind;
  }
  void heal() {
    const std::lock_guard locked(lock_);
    fault_at_ = never;
  }
  [[nodiscard]] std::uint64_t acts() const {
    const std::lock_guard locked(lock_);
    return acts_;
  }
  [[nodiscard]] bool has_failed() const {
    const std::lock_guard locked(lock_);
    return acts_ > fault_at_;
  }

  /// Sectors that were written since the last flush are there or not, whatever their order. So are
  /// the last changes of names, from some change on.
  void cut_power(std::uint32_t seed) {
    const std::lock_guard locked(lock_);
    std::mt19937 random(seed);
    auto left = durable_names_;
    const auto kept = random() % (name_changes_.size() + 1);
    for (std::size_t i = 0; i < kept; ++i) apply(left, name_changes_[i]);
    for (auto& [name, file] : left) file->tear(random);
    names_ = durable_names_ = std::move(left);
    name_changes_.clear();
    fault_at_ = never;
  }

  [[nodiscard]] std::unique_ptr<journal::file_layer> mount() {
    return std::make_unique<folder>(*this);
  }
  /// From now on there is room for so many bytes.
  void limit(std::uint64_t bytes) {
    const std::lock_guard locked(lock_);
    room_ = bytes;
  }
  /// What is written over needs room of its own, as on a file system that copies it.
  void copy_on_write() {
    const std::lock_guard locked(lock_);
    copies_ = true;
  }
  /// Whether the files are there can't be known; 0: it can again.
  void hide(int number) {
    const std::lock_guard locked(lock_);
    hidden_ = number;
  }
  /// The sum of the files' sizes.
  [[nodiscard]] std::uint64_t size() const {
    const std::lock_guard locked(lock_);
    return used();
  }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  static constexpr std::size_t sector = 512;

  struct content {
    std::string durable;
    std::string now;
    std::uint64_t written = 0;  ///< up to there `now` was written; what is behind was reserved

    void tear(std::mt19937& random) {
      auto out = random() % 2 == 0 ? durable : std::string(now.size(), '\0');
      const auto both = std::min(out.size(), durable.size());
      std::copy_n(durable.begin(), both, out.begin());
      for (std::size_t begin = 0; begin < out.size() && begin < now.size(); begin += sector) {
        if (random() % 2 == 0) continue;
        const auto size = std::min({sector, out.size() - begin, now.size() - begin});
        std::copy_n(now.begin() + static_cast<std::ptrdiff_t>(begin), size,
                    out.begin() + static_cast<std::ptrdiff_t>(begin));
      }
      now = durable = std::move(out);
      written = now.find_last_not_of('\0') + 1;
    }
  };
  using names = std::map<std::string, std::shared_ptr<content>>;
  struct name_change {
    std::string former;             ///< loses its name; empty: none does
    std::string target;             ///< gets a file; empty: none does
    std::shared_ptr<content> file;  ///< that one
  };

  static void apply(names& all, const name_change& change) {
    if (!change.former.empty()) all.erase(change.former);
    if (!change.target.empty()) all[change.target] = change.file;
  }
  void change_names(name_change change) {
    apply(names_, change);
    name_changes_.push_back(std::move(change));
  }

  std::uint64_t used() const {
    std::uint64_t out = 0;
    for (const auto& [name, file] : names_) out += file->now.size();
    return out;
  }
  /// 0, or the errno with which a file can't become so much larger.
  int grow(std::uint64_t bytes) const { return used() + bytes > room_ ? ENOSPC : 0; }

  std::uint64_t room_left() const { return room_ - std::min(room_, used()); }

  /// 0, or the errno with which this act fails.
  int act(act_kind kind = act_kind::grow) {
    const auto now = acts_++;
    if (listener_) {
      if (const int failed = listener_(kind); failed != 0) return failed;
    }
    if (now < fault_at_) return 0;
    if (kind_ == fault::cut || now == fault_at_) return number_;
    return kind_ == fault::lasts && kind == act_kind::grow ? number_ : 0;
  }
  /// The kind of an act that needs more room, or none.
  static act_kind growing(bool more) noexcept { return more ? act_kind::grow : act_kind::other; }

  class open_file final : public journal::file {
   public:
    open_file(simulated_disk& disk, std::shared_ptr<content> bytes)
        : disk_(disk), bytes_(std::move(bytes)) {}
    [[nodiscard]] int write(std::string_view bytes, std::uint64_t offset) override {
      const std::lock_guard locked(disk_.lock_);
      auto& now = bytes_->now;
      const bool in_place = offset + bytes.size() <= now.size();
      int failed = disk_.act(growing(!in_place));
      if (failed == 0 && !in_place) failed = disk_.grow(offset + bytes.size() - now.size());
      // What was only reserved is written where it is.
      if (failed == 0 && in_place && disk_.copies_ && offset < bytes_->written) {
        failed = disk_.grow(bytes.size());
      }
      if (failed != 0) bytes = bytes.substr(0, bytes.size() / 2);
      if (offset + bytes.size() > now.size()) now.resize(offset + bytes.size(), '\0');
      now.replace(offset, bytes.size(), bytes);
      bytes_->written = std::max(bytes_->written, offset + bytes.size());
      return failed;
    }
    [[nodiscard]] int read(char* target, std::size_t size, std::uint64_t offset,
                           std::size_t& got) const override {
      const std::lock_guard locked(disk_.lock_);
      const auto& now = bytes_->now;
      got = offset >= now.size() ? 0 : std::min<std::size_t>(size, now.size() - offset);
      std::copy_n(now.data() + std::min<std::size_t>(offset, now.size()), got, target);
      return 0;
    }
    [[nodiscard]] int flush() override {
      const std::lock_guard locked(disk_.lock_);
      if (const int failed = disk_.act(act_kind::flush); failed != 0) return failed;
      bytes_->durable = bytes_->now;
      return 0;
    }
    [[nodiscard]] int truncate(std::uint64_t size) override {
      const std::lock_guard locked(disk_.lock_);
      if (const int failed = disk_.act(act_kind::other); failed != 0) return failed;
      bytes_->now.resize(size, '\0');
      bytes_->written = std::min(bytes_->written, size);
      return 0;
    }
    [[nodiscard]] int reserve(std::uint64_t size) override {
      const std::lock_guard locked(disk_.lock_);
      auto& now = bytes_->now;
      const int refused = disk_.act(growing(size > now.size()));
      if (refused != 0) return refused;
      if (size <= now.size()) return 0;
      const int failed = disk_.grow(size - now.size());
      // What there is room for may be reserved, and stays.
      if (failed != 0) size = now.size() + disk_.room_left();
      now.resize(size, '\0');
      return failed;
    }
    [[nodiscard]] int size(std::uint64_t& out) const override {
      const std::lock_guard locked(disk_.lock_);
      out = bytes_->now.size();
      return 0;
    }
    [[nodiscard]] bool overwrites_blocks() const override {
      const std::lock_guard locked(disk_.lock_);
      return !disk_.copies_;
    }
    [[nodiscard]] const std::shared_ptr<content>& bytes() const noexcept { return bytes_; }

   private:
    simulated_disk& disk_;
    const std::shared_ptr<content> bytes_;
  };

  class folder final : public journal::file_layer {
   public:
    explicit folder(simulated_disk& disk) : disk_(disk) {}
    [[nodiscard]] result<std::unique_ptr<journal::file>> open(const std::string& name,
                                                              journal::open_file mode) override {
      const std::lock_guard locked(disk_.lock_);
      const bool creates = mode == journal::open_file::created;
      if (const int failed = disk_.act(growing(creates)); failed != 0)
        return refuse(failed, "open");
      const auto found = disk_.names_.find(name);
      if (found == disk_.names_.end() && !creates) return refuse(ENOENT, "open");
      if (creates) disk_.change_names({{}, name, std::make_shared<content>()});
      return std::unique_ptr<journal::file>(
          std::make_unique<open_file>(disk_, disk_.names_.at(name)));
    }
    [[nodiscard]] result<std::vector<std::string>> list() override {
      const std::lock_guard locked(disk_.lock_);
      std::vector<std::string> out;
      for (const auto& [name, bytes] : disk_.names_) out.push_back(name);
      return out;
    }
    [[nodiscard]] result<void> rename(const std::string& former,
                                      const std::string& target) override {
      const std::lock_guard locked(disk_.lock_);
      if (const int failed = disk_.act(); failed != 0) return refuse(failed, "rename");
      disk_.change_names({former, target, disk_.names_.at(former)});
      return {};
    }
    [[nodiscard]] result<void> remove(const std::string& name) override {
      const std::lock_guard locked(disk_.lock_);
      if (const int failed = disk_.act(act_kind::other); failed != 0)
        return refuse(failed, "remove");
      disk_.change_names({name, {}, nullptr});
      return {};
    }
    [[nodiscard]] result<void> flush_names() override {
      const std::lock_guard locked(disk_.lock_);
      if (const int failed = disk_.act(act_kind::flush); failed != 0)
        return refuse(failed, "flush");
      disk_.durable_names_ = disk_.names_;
      disk_.name_changes_.clear();
      return {};
    }
    [[nodiscard]] result<bool> still_there(const std::string& name,
                                           const journal::file& opened) const override {
      const std::lock_guard locked(disk_.lock_);
      if (disk_.hidden_ != 0) return refuse(disk_.hidden_, "look");
      const auto found = disk_.names_.find(name);
      return found != disk_.names_.end() &&
             found->second == static_cast<const open_file&>(opened).bytes();
    }
    [[nodiscard]] const std::string& location() const noexcept override { return name_; }

   private:
    [[nodiscard]] error refuse(int number, std::string_view act) const {
      return journal::to_error(number, name_, act);
    }
    simulated_disk& disk_;
    const std::string name_ = "simulated";
  };

  mutable std::mutex lock_;
  std::function<int(act_kind)> listener_;
  std::uint64_t acts_ = 0;
  std::uint64_t fault_at_ = never;
  std::uint64_t room_ = never;
  bool copies_ = false;
  int hidden_ = 0;
  int number_ = 0;
  fault kind_ = fault::once;
  names names_, durable_names_;
  std::vector<name_change> name_changes_;
};

}  // namespace onceguard::sim
