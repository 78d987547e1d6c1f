// The jobs that the writer's thread carries out for callers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

#include "store/journal/group.hpp"
#include "store/worker_call.hpp"

namespace onceguard::journal {

enum class job_kind : std::uint8_t { write, check, sweep };

class writer_call : public call {
 public:
  [[nodiscard]] virtual job_kind kind() const noexcept = 0;
  /// Gives an error instead of results.
  virtual void fail(error why) = 0;
  /// Does the job come from the holder of a lease?
  [[nodiscard]] virtual bool by_holder() const noexcept { return false; }
  /// Does the job need another turn?
  [[nodiscard]] virtual bool unfinished() const noexcept { return false; }
};

class write_job : public writer_call {
 public:
  [[nodiscard]] job_kind kind() const noexcept override { return job_kind::write; }
  /// May be called again, in another group, if that group was not written.
  void carry_out(group& within) {
    const auto before = within.writes();
    do_carry_out(within);
    wrote_ = within.writes() != before;
  }
  void fail(error why) override {
    if (!wrote_) why.effect = effect::none;
    do_fail(why);
  }

 private:
  virtual void do_carry_out(group& within) = 0;
  virtual void do_fail(const error& why) = 0;
  bool wrote_ = false;
};

/// Claims, settles, extensions, resolutions or imports. The constructor encodes what it can on the
/// caller's thread, to spare the writer's.
template <class Item, class Outcome>
class batch_job final : public write_job {
 public:
  explicit batch_job(std::vector<Item> items) : items_(std::move(items)) {
    parts_.reserve(count_);
    for (const auto& item : items_) parts_.push_back(parts_of(item));
    outcomes_.reserve(count_);
  }

  /// For the caller, once resumed: one outcome for each item.
  [[nodiscard]] std::vector<result<Outcome>> outcomes() {
    if (lapse()) return std::vector<result<Outcome>>(count_, *lapse());
    return std::move(outcomes_);
  }
  [[nodiscard]] bool by_holder() const noexcept override {
    return std::is_same_v<Item, settlement> || std::is_same_v<Item, extension>;
  }

 private:
  void do_carry_out(group& within) override {
    outcomes_.clear();
    for (std::size_t i = 0; i < count_; ++i) {
      outcomes_.push_back(within.apply(items_[i], parts_[i]));
    }
  }
  void do_fail(const error& why) override { outcomes_.assign(count_, why); }

  const std::vector<Item> items_;
  const std::size_t count_ = items_.size();
  std::vector<encoded_parts> parts_;
  std::vector<result<Outcome>> outcomes_;
};

/// Whether a group could be written; it writes none.
class write_check final : public writer_call {
 public:
  [[nodiscard]] job_kind kind() const noexcept override { return job_kind::check; }
  void fail(error why) override { outcome_ = std::move(why); }
  [[nodiscard]] result<void> outcome() const { return lapse() ? result<void>(*lapse()) : outcome_; }
  void answer(result<void> found) { outcome_ = std::move(found); }

 private:
  result<void> outcome_;
};

/// A sweep in slices. Claims and settles get their turn between the slices.
class sweep_job final : public writer_call {
 public:
  explicit sweep_job(std::size_t limit) : limit_(limit) {}

  [[nodiscard]] result<std::size_t> outcome() const {
    if (lapse()) return *lapse();
    if (failed_) return *failed_;
    return gone_;
  }
  [[nodiscard]] job_kind kind() const noexcept override { return job_kind::sweep; }
  void fail(error why) override {
    failed_ = std::move(why);
    slots_left_ = 0;
  }
  [[nodiscard]] bool unfinished() const noexcept override { return slots_left_ > 0 && left() > 0; }
  [[nodiscard]] std::size_t left() const noexcept { return limit_ - gone_; }
  [[nodiscard]] std::size_t& slots_left() noexcept { return slots_left_; }
  [[nodiscard]] bool begun() const noexcept { return begun_; }
  void begin(std::size_t slots) {
    slots_left_ = slots;
    begun_ = true;
  }
  void removed(std::size_t count) noexcept { gone_ += count; }

 private:
  const std::size_t limit_;
  std::size_t gone_ = 0;
  std::size_t slots_left_ = 0;
  bool begun_ = false;
  std::optional<error> failed_;
};

}  // namespace onceguard::journal
