// Claims, settles and extensions on their way: what is sent next for one of them, and what the
// reply means. The state machine of include/onceguard/decide.hpp decides; a script carries out.
#pragma once
#include <optional>
#include <string>

#include <onceguard/decide.hpp>

#include "store/redis/held_leases.hpp"
#include "store/redis/queries.hpp"

namespace onceguard::redis {

/// What is known where a record is decided.
struct position {
  const record* former = nullptr;  ///< null: there is no record
  stamp first = 0;
  std::string begins;  ///< empty: there is no record
  stamp now = 0;
};
/// The call that replaces the record in this position.
[[nodiscard]] record_calls::item replace_record(const record_id& id, const position& found,
                                                const record& undated);

/// What the three kinds share. `begin` and `read` give the next call; without one, there is an
/// outcome.
template <class Item, class Outcome>
class act {
 public:
  using item_type = Item;
  using outcome_type = Outcome;

  act(Item item, held_leases& leases) : item_(std::move(item)), leases_(leases) {}
  std::optional<result<Outcome>> outcome;

 protected:
  std::optional<record_calls::item> end(result<Outcome> result) {
    outcome.emplace(std::move(result));
    return std::nullopt;
  }
  [[nodiscard]] record_calls::item look() const {
    record_calls::item out;
    out.id = item_.id;
    return out;
  }
  /// Replaces the record that was found, and remembers the new one.
  [[nodiscard]] record_calls::item replace(const position& found, record stored) {
    pending_ = undated(std::move(stored), instant_of(found.now), found.former);
    first_ = found.first;
    auto out = replace_record(item_.id, found, pending_);
    lease_ = lease_of(out.payload);
    return out;
  }
  /// The lease of the record that was written is this process's.
  void hold(stamp written) {
    date(pending_, written);
    held_lease out{{std::move(pending_), first_ == 0 ? written : first_, written},
                   beginning_of(written, lease_)};
    leases_.put(item_.id, std::move(out));
  }

  Item item_;
  held_leases& leases_;
  record pending_;
  stamp first_ = 0;
  std::string lease_;
};

class claim_act final : public act<claim, verdict> {
 public:
  using act::act;
  [[nodiscard]] std::optional<record_calls::item> begin();
  [[nodiscard]] std::optional<record_calls::item> read(reading seen);

 private:
  verdict verdict_;  // once the record is written
};

class settle_act final : public act<settlement, settled> {
 public:
  using act::act;
  [[nodiscard]] std::optional<record_calls::item> begin();
  [[nodiscard]] std::optional<record_calls::item> read(reading seen);

 private:
  [[nodiscard]] std::optional<record_calls::item> decide_on(const position& found);
  settled settled_;
};

class extend_act final : public act<extension, bool> {
 public:
  using act::act;
  [[nodiscard]] std::optional<record_calls::item> begin();
  [[nodiscard]] std::optional<record_calls::item> read(reading seen);

 private:
  [[nodiscard]] std::optional<record_calls::item> decide_on(const position& found);
};

}  // namespace onceguard::redis
