// Claims, settles and extensions on their way: what is sent next for one of them, and what the
// reply means. The state machine of include/onceguard/decide.hpp decides; a statement carries out.
#pragma once
#include <optional>
#include <utility>

#include <onceguard/decide.hpp>

#include "store/act_batch.hpp"
#include "store/postgres/batching/connection_pool.hpp"
#include "store/postgres/batching/request.hpp"

namespace onceguard::postgres {

/// What the three kinds share. `begin` and `take` give the next request; without one, there is an
/// outcome. A request that wrote nothing is followed by one that reads the record.
template <class Item, class Outcome>
class act {
 public:
  using item_type = Item;
  using outcome_type = Outcome;

  act(Item item, connection_pool& servers) : item_(std::move(item)), pool_(servers) {}
  virtual ~act() = default;
  [[nodiscard]] std::optional<request> take(request done) {
    if (done.failed) return end(*std::move(done.failed));
    return read(std::move(done));
  }
  [[nodiscard]] const record_id& id() const noexcept { return item_.id; }
  std::optional<result<Outcome>> outcome;

 protected:
  [[nodiscard]] virtual std::optional<request> read(request done) = 0;
  std::optional<request> end(result<Outcome> result) {
    outcome.emplace(std::move(result));
    return std::nullopt;
  }
  /// Reads the record, at once or after a pause that grows: another transaction works on it.
  [[nodiscard]] request query(bool whole = false, bool pause = false);
  /// The next request where nothing can be decided on what was read: none if something can.
  [[nodiscard]] std::optional<request> query_again(const reading& seen) {
    if (!seen.cut) return std::nullopt;
    return query(true);
  }
  [[nodiscard]] request write(const reading& seen, record next);
  [[nodiscard]] instant instant_of(const reading& seen) const {
    return postgres::instant_of(seen.now, pool_.expiry_paused());
  }

  Item item_;
  connection_pool& pool_;
  bool written_ = false;  // a write is on its way
  std::uint32_t tries_ = 0;
};

class claim_act final : public act<claim, verdict> {
 public:
  using act::act;
  [[nodiscard]] std::optional<request> begin();

 private:
  [[nodiscard]] std::optional<request> read(request done) override;
  [[nodiscard]] std::optional<request> busy();
  [[nodiscard]] bool is_held(const std::string& version);
  verdict verdict_;          // once the record is written
  bool sent_twice_ = false;  // the first sending has an unknown effect
  std::string version_;      // over which it was to be written
  std::uint32_t in_vain_ = 0;
};

class settle_act final : public act<settlement, settled> {
 public:
  using act::act;
  [[nodiscard]] std::optional<request> begin();

 private:
  [[nodiscard]] std::optional<request> read(request done) override;
  settled settled_;
};

class extend_act final : public act<extension, bool> {
 public:
  using act::act;
  [[nodiscard]] std::optional<request> begin();

 private:
  [[nodiscard]] std::optional<request> read(request done) override;
};

/// The request that writes the record in the place of what was read.
[[nodiscard]] request write_request(const record_id& id, const reading& seen, record next);

}  // namespace onceguard::postgres
