// Claims, settles and extensions on their way: what is sent next for one of them, and what the
// reply means. The state machine of include/onceguard/decide.hpp decides; a script carries out.
#pragma once
#include <optional>
#include <string>

#include <onceguard/decide.hpp>

#include "store/redis/commands/queries.hpp"
#include "store/redis/lease_cache.hpp"

namespace onceguard::redis {

/// What is known where a record is decided.
struct position {
  const record* former = nullptr;  ///< null: there is no record
  stamp first = 0;
  std::string begins;  ///< empty: there is no record
  stamp now = 0;
  bool fresh = false;  ///< a claim that nothing was read for
};
/// What an act needs of its store.
struct act_context {
  const keyspace& names;
  lease_cache& leases;
};

/// What the three kinds share. `begin` and `read` give the next call; without one, there is an
/// outcome.
template <class Item, class Outcome>
class act {
 public:
  using item_type = Item;
  using outcome_type = Outcome;

  act(Item item, const act_context& context) : item_(std::move(item)), context_(context) {}
  virtual ~act() = default;
  [[nodiscard]] std::optional<request> read(reading seen) {
    if (seen.written) {
      left_unknown = leaves_unknown_;
      return end(written(seen.time));
    }
    auto wrong = fault_of(seen);
    const auto* former = record_in(seen);
    met_unknown = wrong || (former != nullptr &&
                            observe(*former, instant_of(seen.time)) == observed_state::unknown);
    if (wrong) return end(std::move(*wrong));
    return decide_on({former, first_in(seen), seen.begins, seen.time});
  }
  [[nodiscard]] const record_id& id() const noexcept { return item_.id; }
  std::optional<result<Outcome>> outcome;
  // What operators are to find.
  bool met_unknown = false;   ///< or unreadable
  bool left_unknown = false;  ///< it was written so

 protected:
  [[nodiscard]] virtual std::optional<request> decide_on(const position& found) = 0;
  /// The record that was decided on stands since then.
  [[nodiscard]] virtual Outcome written(stamp time) = 0;

  std::optional<request> end(result<Outcome> result) {
    outcome.emplace(std::move(result));
    return std::nullopt;
  }
  /// Decides on the lease that this process holds, or reads the record first.
  [[nodiscard]] std::optional<request> decide_on_held() {
    auto held = context_.leases.take(item_.id, item_.token, item_.claim_id);
    if (!held) return record_request(context_.names, item_.id);
    return decide_on({&held->stored.record, held->stored.first, held->begins, held->now()});
  }
  /// Replaces the record that was found, and remembers the new one.
  [[nodiscard]] request replace(const position& found, record stored) {
    const auto now = instant_of(found.now);
    leaves_unknown_ = observe(stored, now) == observed_state::unknown;
    pending_ = undated(std::move(stored), now, found.former);
    first_ = found.first;
    const auto payload = encode_payload(pending_, first_);
    lease_ = lease_of(payload);
    const auto life = life_of(pending_, now);
    if (found.fresh) return set_record(context_.names, item_.id, payload, life);
    return swap_record(context_.names, item_.id, found.begins, payload, life, false);
  }
  /// The lease of the record that was written is this process's.
  void hold(stamp time) {
    date(pending_, time);
    cached_lease out{{std::move(pending_), first_ == 0 ? time : first_, time},
                     beginning_of(time, lease_)};
    context_.leases.put(item_.id, std::move(out));
  }

  Item item_;
  const act_context context_;

 private:
  record pending_;
  stamp first_ = 0;
  std::string lease_;
  bool leaves_unknown_ = false;
};

class claim_act final : public act<claim, verdict> {
 public:
  using act::act;
  [[nodiscard]] std::optional<request> begin();

 private:
  [[nodiscard]] std::optional<request> decide_on(const position& found) override;
  [[nodiscard]] verdict written(stamp time) override;
  verdict verdict_;  // once the record is written
};

class settle_act final : public act<settlement, settled> {
 public:
  using act::act;
  [[nodiscard]] std::optional<request> begin();

 private:
  [[nodiscard]] std::optional<request> decide_on(const position& found) override;
  [[nodiscard]] settled written(stamp) override { return std::move(settled_); }
  settled settled_;
};

class extend_act final : public act<extension, bool> {
 public:
  using act::act;
  [[nodiscard]] std::optional<request> begin();

 private:
  [[nodiscard]] std::optional<request> decide_on(const position& found) override;
  [[nodiscard]] bool written(stamp time) override;
};

}  // namespace onceguard::redis
