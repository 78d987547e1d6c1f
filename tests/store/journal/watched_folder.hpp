// A journal's folder that counts what is read of each file, and tells when a file is written.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/journal/file_layer.hpp"

namespace onceguard::testing {

/// Any thread, but for the functions, which are set before the folder is opened.
class folder_watch {
 public:
  /// Called before each write with the file's name.
  std::function<void(const std::string&)> on_write;
  /// The errno with which this read fails, or 0: file, offset, size.
  std::function<int(const std::string&, std::uint64_t, std::size_t)> read_failure;
  /// The errno with which a write of this file fails, or 0.
  std::function<int(const std::string&)> write_failure;
  /// Called before whatever else may take long.
  std::function<void(const std::string&)> on_act;

  void add(const std::string& name, std::uint64_t bytes) {
    const std::lock_guard locked(lock_);
    by_name_[name] += bytes;
  }
  [[nodiscard]] std::uint64_t at(const std::string& name) const {
    const std::lock_guard locked(lock_);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? 0 : found->second;
  }
  void note_write(std::uint64_t bytes) {
    const std::lock_guard locked(lock_);
    largest_write_ = std::max(largest_write_, bytes);
    writes_.push_back(bytes);
  }
  [[nodiscard]] std::uint64_t largest_write() const {
    const std::lock_guard locked(lock_);
    return largest_write_;
  }
  /// The sizes of all writes, in their order.
  [[nodiscard]] std::vector<std::uint64_t> writes() const {
    const std::lock_guard locked(lock_);
    return writes_;
  }
  void clear() {
    const std::lock_guard locked(lock_);
    by_name_.clear();
    writes_.clear();
  }

 private:
  mutable std::mutex lock_;
  std::map<std::string, std::uint64_t> by_name_;
  std::uint64_t largest_write_ = 0;
  std::vector<std::uint64_t> writes_;
};

class watched_file final : public journal::file {
 public:
  watched_file(std::unique_ptr<journal::file> watched, std::string name, folder_watch& counted)
      : watched_(std::move(watched)), name_(std::move(name)), counted_(counted) {}
  [[nodiscard]] int write(std::string_view bytes, std::uint64_t offset) override {
    if (counted_.on_write) counted_.on_write(name_);
    counted_.note_write(bytes.size());
    const int failed = counted_.write_failure ? counted_.write_failure(name_) : 0;
    if (failed != 0) return failed;
    return watched_->write(bytes, offset);
  }
  [[nodiscard]] int read(char* target, std::size_t size, std::uint64_t offset,
                         std::size_t& got) const override {
    act();
    got = 0;
    int failed = counted_.read_failure ? counted_.read_failure(name_, offset, size) : 0;
    if (failed == 0) failed = watched_->read(target, size, offset, got);
    counted_.add(name_, got);
    return failed;
  }
  [[nodiscard]] int flush() override {
    act();
    return watched_->flush();
  }
  [[nodiscard]] int truncate(std::uint64_t size) override { return watched_->truncate(size); }
  [[nodiscard]] int reserve(std::uint64_t size) override {
    act();
    return watched_->reserve(size);
  }
  [[nodiscard]] int size(std::uint64_t& out) const override { return watched_->size(out); }
  [[nodiscard]] std::uint64_t written_end() const override { return watched_->written_end(); }
  [[nodiscard]] bool overwrites_blocks() const override { return watched_->overwrites_blocks(); }
  [[nodiscard]] const journal::file& watched() const noexcept { return *watched_; }

 private:
  void act() const {
    if (counted_.on_act) counted_.on_act(name_);
  }

  const std::unique_ptr<journal::file> watched_;
  const std::string name_;
  folder_watch& counted_;
};

class watched_folder final : public journal::file_layer {
 public:
  watched_folder(std::unique_ptr<journal::file_layer> watched, folder_watch& counted)
      : watched_(std::move(watched)), counted_(counted) {}
  [[nodiscard]] result<std::unique_ptr<journal::file>> open(const std::string& name,
                                                            journal::open_file mode) override {
    auto opened = watched_->open(name, mode);
    if (!opened) return opened;
    return std::unique_ptr<journal::file>(
        std::make_unique<watched_file>(std::move(*opened), name, counted_));
  }
  [[nodiscard]] result<std::vector<std::string>> list() override { return watched_->list(); }
  [[nodiscard]] result<void> rename(const std::string& former, const std::string& target) override {
    return watched_->rename(former, target);
  }
  [[nodiscard]] result<void> remove(const std::string& name) override {
    if (counted_.on_act) counted_.on_act(name);
    return watched_->remove(name);
  }
  [[nodiscard]] result<void> flush_names() override { return watched_->flush_names(); }
  [[nodiscard]] result<bool> still_there(const std::string& name,
                                         const journal::file& opened) const override {
    return watched_->still_there(name, static_cast<const watched_file&>(opened).watched());
  }
  [[nodiscard]] const std::string& location() const noexcept override {
    return watched_->location();
  }

 private:
  const std::unique_ptr<journal::file_layer> watched_;
  folder_watch& counted_;
};

inline result<std::unique_ptr<journal::file_layer>> watch_folder(const std::string& path,
                                                                 folder_watch& counted) {
  auto opened = journal::open_folder(path);
  if (!opened) return opened;
  return std::unique_ptr<journal::file_layer>(
      std::make_unique<watched_folder>(std::move(*opened), counted));
}

}  // namespace onceguard::testing
