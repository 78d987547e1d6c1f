// What the writer thread carries out for callers.
#pragma once
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

#include "store/call.hpp"
#include "store/sqlite/culprits.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/transaction.hpp"

namespace onceguard::sqlite {

class write_job : public call {
 public:
  /// Within a transaction. Failures of SQLite that end it are thrown.
  void carry_out(transaction& in) {
    const auto before = in.writes();
    do_carry_out(in);
    wrote_ = in.writes() != before;
  }
  /// After a damaged page has ended a transaction: finds out which of its records are to blame.
  virtual void probe(transaction& in, record_table& table, culprits& found,
                     const std::string& place) = 0;
  /// In place of results: nothing was carried out, or, `of_commit`, what was written may be.
  void fail(error why, bool of_commit) {
    if (of_commit && wrote_) why.effect = effect::unknown;
    do_fail(why);
  }
  /// Is there more to do, in a transaction after this one?
  [[nodiscard]] virtual bool unfinished() const noexcept { return false; }
  [[nodiscard]] virtual std::size_t size() const noexcept { return 1; }
  /// Is it from who holds a lease?
  [[nodiscard]] virtual bool by_holder() const noexcept { return false; }

 private:
  virtual void do_carry_out(transaction& in) = 0;
  virtual void do_fail(const error& why) = 0;
  bool wrote_ = false;
};

/// Claims, settles, extensions or resolutions. An item that is too big for SQLite, or whose record
/// stands on a damaged page, fails alone. What the writer need not do itself is done where the job
/// is made, by the caller's thread.
template <class Item, class Outcome>
class batch_job final : public write_job {
 public:
  explicit batch_job(std::vector<Item> items) : items_(std::move(items)) {
    parts_.reserve(count_);
    for (const auto& item : items_) parts_.push_back(parts_of(item));
    outcomes_.reserve(count_);
  }

  /// The caller, once resumed: one outcome for each item.
  [[nodiscard]] std::vector<result<Outcome>> outcomes() {
    if (lapse()) return std::vector<result<Outcome>>(count_, *lapse());
    return std::move(outcomes_);
  }
  [[nodiscard]] std::size_t size() const noexcept override { return count_; }
  [[nodiscard]] bool by_holder() const noexcept override {
    return std::is_same_v<Item, settlement> || std::is_same_v<Item, extension>;
  }

 private:
  void do_carry_out(transaction& in) override {
    outcomes_.clear();
    for (std::size_t i = 0; i < count_; ++i) {
      try {
        outcomes_.push_back(in.apply(items_[i], parts_[i]));
      } catch (const failure& failed) {
        if (failed.code() != SQLITE_TOOBIG) throw;
        outcomes_.push_back(error(errc::invalid_argument, "the record is too big to be stored"));
      }
    }
  }
  void probe(transaction&, record_table& table, culprits& found,
             const std::string& place) override {
    for (const auto& item : items_) {
      try {
        table.probe(item.id);
      } catch (const failure& failed) {
        if (!is_damage(failed)) throw;
        found.add(item.id, to_error(failed, place, effect::none));
      }
    }
  }
  void do_fail(const error& why) override { outcomes_.assign(count_, why); }

  const std::vector<Item> items_;
  const std::size_t count_ = items_.size();
  std::vector<encoded_parts> parts_;
  std::vector<result<Outcome>> outcomes_;
};

/// A sweep, in slices between which claims and settles get their turn.
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
  void probe(transaction& in, record_table&, culprits&, const std::string&) override {
    in.probe_sweep(slice);
  }
  void do_carry_out(transaction& in) override {
    const auto most = std::min(slice, limit_ - gone_);
    const auto gone = in.sweep(most);
    gone_ += gone;
    more_ = gone == most && gone_ < limit_;
  }
  void do_fail(const error& why) override { failed_ = why, more_ = false; }

  const std::size_t limit_;
  std::size_t gone_ = 0;
  bool more_ = false;
  std::optional<error> failed_;
};

}  // namespace onceguard::sqlite
