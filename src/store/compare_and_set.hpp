// Claims, settles and what operators do, each about one record, in stores whose servers compare and
// set: `decide` and its like say what the record becomes, and a write on the condition that the
// record still stands as it was seen carries that out. Otherwise the record is read, and decided on
// anew.
//
// A store adds `Act`, which all its acts share:
//   request_type, reading_type, context_type
//   Act(id, context), take(request), id()
//   read_again()                     the request that reads the record
//   decide_on_held(token, claim id)  decides on the lease that this process holds, or reads
//   replace(reading, record, cause)  the request that replaces what was seen
//   hold()                           the lease of the record that was written is this process's
//   leave_answer_out()               the decision does not need the stored answer
//   nothing_seen()                   what a first claim is decided on, before any look
//   first_token()                    of a lease that the server numbers: after its write
//   retention_margin()               by which records stay longer, as clocks are apart
// It calls decide_on(reading), meet_unreadable(reading), written() and fail(error). A reading says
//   now, unreadable, former()        the record that counts; null: there is none
//   revision()                       of that record, as of record_view
//   next_token()                     larger than any token of the record; 0: the server numbers it
//   clock_token()                    what the clock gives, without a record
//   token_beyond()                   larger than what is left of an unreadable record
//   whose_clock                      "this server's clock", for people
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <onceguard/decide.hpp>

#include "store/act_batch.hpp"
#include "store/record_errors.hpp"

namespace onceguard {

/// Why a record is written.
enum class write_cause : std::uint8_t { claim, settle, extend, resolve, forget, import };

/// Operators do it, who look at what came of it: it is not sent again when its effect is unknown.
[[nodiscard]] constexpr bool by_operator(write_cause why) noexcept {
  return why == write_cause::resolve || why == write_cause::forget || why == write_cause::import;
}

/// An act with its item and its outcome.
template <class Act, class Item, class Outcome>
class act_of : public Act {
 public:
  using item_type = Item;
  using outcome_type = Outcome;
  /// Operators do it.
  static constexpr bool operators =
      std::is_same_v<Item, resolution> || std::is_same_v<Item, imported_record>;

  act_of(Item item, const typename Act::context_type& context)
      : Act(item.id, context), item_(std::move(item)) {}
  std::optional<result<Outcome>> outcome;

 protected:
  using reading = typename Act::reading_type;
  using step = std::optional<typename Act::request_type>;

  step end(result<Outcome> result) {
    outcome.emplace(std::move(result));
    return std::nullopt;
  }
  step fail(error why) final { return end(std::move(why)); }

  Item item_;
};

template <class Act>
class claim_act final : public act_of<Act, claim, verdict> {
  using parent = act_of<Act, claim, verdict>;

 public:
  using parent::parent;
  [[nodiscard]] typename parent::step begin() {
    auto& item = this->item_;
    if (!item.about) return this->end(subject_missing());
    bound_times(item.lease, item.probe_after, item.unknown_retention, item.retention);
    if (item.unknown_retention.count() != 0) item.unknown_retention += this->retention_margin();
    return decide_on(this->nothing_seen());  // a first claim is not preceded by a look
  }

 private:
  [[nodiscard]] typename parent::step decide_on(const typename parent::reading& seen) override {
    auto decided = decide(seen.former(), this->item_, seen.now, seen.next_token());
    if (!decided.write) return this->end(std::move(decided.verdict));
    verdict_ = std::move(decided.verdict);
    return this->replace(seen, std::move(*decided.write), write_cause::claim);
  }
  [[nodiscard]] typename parent::step written() override {
    if (verdict_.lease.token == 0) verdict_.lease.token = this->first_token();
    this->hold();
    return this->end(std::move(verdict_));
  }
  verdict verdict_;  // once the record is written
};

template <class Act>
class settle_act final : public act_of<Act, settlement, settled> {
  using parent = act_of<Act, settlement, settled>;

 public:
  using parent::parent;
  [[nodiscard]] typename parent::step begin() {
    auto& item = this->item_;
    bound_times(item.retention, item.backoff, item.backoff_max, item.probe_pause);
    item.retention += this->retention_margin();
    return this->decide_on_held(item.token, item.claim_id);
  }

 private:
  [[nodiscard]] typename parent::step decide_on(const typename parent::reading& seen) override {
    auto decided = decide_settle(seen.former(), this->item_, seen.now);
    if (!decided.write) return this->end(std::move(decided.result));
    if (!decided.write->about) return this->end(subject_missing());
    settled_ = std::move(decided.result);
    return this->replace(seen, std::move(*decided.write), write_cause::settle);
  }
  [[nodiscard]] typename parent::step written() override { return this->end(std::move(settled_)); }
  settled settled_;
};

template <class Act>
class extend_act final : public act_of<Act, extension, bool> {
  using parent = act_of<Act, extension, bool>;

 public:
  using parent::parent;
  [[nodiscard]] typename parent::step begin() {
    bound_times(this->item_.lease);
    this->leave_answer_out();
    return this->decide_on_held(this->item_.token, this->item_.claim_id);
  }

 private:
  [[nodiscard]] typename parent::step decide_on(const typename parent::reading& seen) override {
    auto decided = decide_extension(seen.former(), this->item_, seen.now);
    if (decided.stale) return this->end(false);
    return this->replace(seen, std::move(*decided.write), write_cause::extend);
  }
  [[nodiscard]] typename parent::step written() override {
    this->hold();
    return this->end(true);
  }
};

template <class Act>
class resolve_act final : public act_of<Act, resolution, resolve_decision> {
  using parent = act_of<Act, resolution, resolve_decision>;

 public:
  using parent::parent;
  [[nodiscard]] typename parent::step begin() {
    bound_times(this->item_.retention);
    this->item_.retention += this->retention_margin();
    return this->read_again();
  }

 private:
  [[nodiscard]] typename parent::step decide_on(const typename parent::reading& seen) override {
    return write(seen, decide_resolution(seen.former(), this->item_, seen.now, seen.revision()));
  }
  [[nodiscard]] typename parent::step meet_unreadable(
      const typename parent::reading& seen) override {
    if (!this->item_.force) return this->fail(*seen.unreadable);
    return write(seen, resolve_unreadable(this->item_, seen.now, seen.token_beyond()));
  }
  [[nodiscard]] typename parent::step write(const typename parent::reading& seen,
                                            resolve_decision decided) {
    if (!decided.write) return this->end(std::move(decided));
    decided_ = std::move(decided);
    return this->replace(seen, *decided_.write,
                         decided_.forgets_answer ? write_cause::forget : write_cause::resolve);
  }
  [[nodiscard]] typename parent::step written() override { return this->end(std::move(decided_)); }
  resolve_decision decided_;
};

/// An imported record: its id is found where an act looks for it.
template <class Act>
class import_act final : public act_of<Act, imported_record, import_outcome> {
  using parent = act_of<Act, imported_record, import_outcome>;

 public:
  using parent::parent;
  [[nodiscard]] typename parent::step begin() {
    if (!this->item_.stored.about) return this->end(subject_missing());
    auto& left = this->item_.retention_left;
    if (left.count() != 0) left += this->retention_margin();
    return this->read_again();
  }

 private:
  [[nodiscard]] typename parent::step decide_on(const typename parent::reading& seen) override {
    const auto& item = this->item_;
    auto decided = decide_import(seen.former(), item, seen.now);
    if (!decided.write) return this->end(decided.outcome);
    // Later tokens are the clock, or follow the record's token while there is a record.
    const auto left = item.retention_left.count() == 0
                          ? released_retention
                          : std::min(item.retention_left, released_retention);
    if (item.stored.token > seen.clock_token() + static_cast<token>(left.count()) * 1'000) {
      return this->fail(error(errc::invalid_argument,
                              std::string("its token is far ahead of ") +
                                  parent::reading::whose_clock +
                                  ": the clock of the store that it comes from was ahead, or this "
                                  "one's is late"));
    }
    return this->replace(seen, std::move(*decided.write), write_cause::import);
  }
  [[nodiscard]] typename parent::step written() override {
    return this->end(import_outcome::imported);
  }
};

}  // namespace onceguard
