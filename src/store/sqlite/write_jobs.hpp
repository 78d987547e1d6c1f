// The jobs that the writer thread carries out for callers.
#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

#include "store/sqlite/damaged_records.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/transaction.hpp"
#include "store/worker_call.hpp"

namespace onceguard::sqlite {

class write_job : public call {
 public:
  /// Runs within a transaction. Failures of SQLite that end the transaction are thrown.
  void carry_out(transaction& transaction) {
    const auto before = transaction.writes();
    do_carry_out(transaction);
    wrote_ = transaction.writes() != before;
  }
  /// After a damaged page has ended a transaction: finds the records of this job that are on such
  /// pages.
  virtual void probe(transaction& transaction, record_table& table, damaged_records& found,
                     const std::string& location) = 0;
  /// Gives an error instead of results. Nothing was carried out or, with `of_commit`, what the job
  /// wrote may have been committed.
  void fail(error why, bool of_commit) {
    if (of_commit && wrote_) why.effect = effect::unknown;
    do_fail(why);
  }
  /// While nothing can be written: gives the job its results if it needs no write. Only the first
  /// call tries.
  void try_reading(reading_pass& pass) {
    if (std::exchange(examined_, true)) return;
    answered_ = try_without_writing(pass);
  }
  [[nodiscard]] bool examined() const noexcept { return examined_; }
  [[nodiscard]] bool answered() const noexcept { return answered_; }
  /// Does the job need another transaction after this one?
  [[nodiscard]] virtual bool unfinished() const noexcept { return false; }
  [[nodiscard]] virtual std::size_t size() const noexcept { return 1; }
  /// Does the job come from the holder of a lease?
  [[nodiscard]] virtual bool by_holder() const noexcept { return false; }
  /// Does the job ask for leases?
  [[nodiscard]] virtual bool claims() const noexcept { return false; }

 private:
  virtual void do_carry_out(transaction& transaction) = 0;
  virtual void do_fail(const error& why) = 0;
  [[nodiscard]] virtual bool try_without_writing(reading_pass& /*at*/) { return false; }
  bool wrote_ = false;
  bool examined_ = false;
  bool answered_ = false;
};

/// Claims, settles, extensions or resolutions. An item that is too big for SQLite, or whose record
/// is on a damaged page, fails alone. The constructor encodes what it can on the caller's thread,
/// to spare the writer's.
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
  [[nodiscard]] std::size_t size() const noexcept override { return count_; }
  [[nodiscard]] bool by_holder() const noexcept override {
    return std::is_same_v<Item, settlement> || std::is_same_v<Item, extension>;
  }
  [[nodiscard]] bool claims() const noexcept override { return std::is_same_v<Item, claim>; }

 private:
  void do_carry_out(transaction& transaction) override {
    outcomes_.clear();
    for (std::size_t i = 0; i < count_; ++i) {
      try {
        outcomes_.push_back(transaction.apply(items_[i], parts_[i]));
      } catch (const failure& failed) {
        if (failed.code() != SQLITE_TOOBIG) throw;
        outcomes_.push_back(error(errc::invalid_argument, "the record is too big to be stored"));
      }
    }
  }
  void probe(transaction&, record_table& table, damaged_records& found,
             const std::string& location) override {
    for (const auto& item : items_) {
      try {
        table.probe(item.id);
      } catch (const failure& failed) {
        if (!is_damage(failed)) throw;
        found.add(item.id, to_error(failed, location, effect::none));
      }
    }
  }
  void do_fail(const error& why) override { outcomes_.assign(count_, why); }
  bool try_without_writing(reading_pass& pass) override {
    if constexpr (std::is_same_v<Item, onceguard::claim>) {
      std::vector<result<Outcome>> seen;
      for (std::size_t i = 0; i < count_; ++i) {
        auto one = pass.apply(items_[i], parts_[i]);
        if (!one) return false;
        seen.push_back(std::move(*one));
      }
      outcomes_ = std::move(seen);
      return true;
    } else {
      static_cast<void>(pass);
      return false;
    }
  }

  const std::vector<Item> items_;
  const std::size_t count_ = items_.size();
  std::vector<encoded_parts> parts_;
  std::vector<result<Outcome>> outcomes_;
};

/// A sweep in slices. Claims and settles get their turn between the slices.
class sweep_job final : public write_job {
 public:
  static constexpr std::size_t slice = 128;

  explicit sweep_job(std::size_t limit) : limit_(limit) {}

  [[nodiscard]] result<std::size_t> outcome() const {
    if (lapse()) return *lapse();
    if (failed_) return *failed_;
    return gone_;
  }
  [[nodiscard]] bool unfinished() const noexcept override { return more_; }

 private:
  void probe(transaction& transaction, record_table&, damaged_records&,
             const std::string&) override {
    transaction.probe_sweep(slice);
  }
  void do_carry_out(transaction& transaction) override {
    const auto most = std::min(slice_, limit_ - gone_);
    going_ = transaction.sweep(most);
    gone_ += going_;
    more_ = going_ == most && gone_ < limit_;
  }
  /// With little room, a smaller slice may still succeed; and a sweep is what makes room.
  void do_fail(const error& why) override {
    gone_ -= std::exchange(going_, 0);
    more_ = why.code == errc::store_full && why.effect == effect::none && slice_ > 1;
    slice_ /= 2;
    const bool got_some = why.code == errc::store_full && gone_ > 0;  // which then is the result
    if (!more_ && !got_some) failed_ = why;
  }

  const std::size_t limit_;
  std::size_t slice_ = slice;
  std::size_t going_ = 0;  // in the transaction that is not committed yet
  std::size_t gone_ = 0;
  bool more_ = false;
  std::optional<error> failed_;
};

/// Whether a transaction that writes can be begun; it writes nothing.
class lock_check final : public write_job {
 public:
  [[nodiscard]] result<void> outcome() const {
    if (lapse()) return *lapse();
    if (failed_) return *failed_;
    return {};
  }

 private:
  void probe(transaction&, record_table&, damaged_records&, const std::string&) override {}
  void do_carry_out(transaction&) override {}
  void do_fail(const error& why) override { failed_ = why; }

  std::optional<error> failed_;
};

}  // namespace onceguard::sqlite
