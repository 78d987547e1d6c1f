// One batch of claims on its way: first to the accelerator, what it can't answer to the truth, and
// what the truth said back to the accelerator. Does no I/O.
#pragma once
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "store/tiered/counters.hpp"
#include "store/tiered/marker_table.hpp"
#include "store/tiered/trusted_epoch.hpp"

namespace onceguard::tiered {

class claim_round {
 public:
  claim_round(std::vector<claim> batch, const trusted_epoch& trusted, marker_table& marks,
              tiered_counters& counters, marker_table::time_point now);

  /// The claims of the markers. Empty: there is nothing to ask.
  [[nodiscard]] std::vector<claim> for_accelerator() const;
  void accelerator_answered(std::vector<result<verdict>> replies);

  /// What the accelerator could not answer. Empty: it could.
  [[nodiscard]] std::vector<claim> for_truth() const;
  /// `waited`: since before the truth was asked.
  void truth_answered(std::vector<result<verdict>> replies, milliseconds waited);

  /// What the accelerator is to be told now.
  [[nodiscard]] std::vector<settlement> take_settles() { return std::move(settles_); }
  [[nodiscard]] std::vector<result<verdict>> take_verdicts();

 private:
  enum class marker_state : std::uint8_t { none, held, perhaps };
  struct item {
    claim request;
    tiered::marker marker;
    bool alone = false;  ///< for the truth alone
    marker_state has = marker_state::none;
    std::optional<result<verdict>> reply;
  };

  void read(item& entry, result<verdict>& reply);
  [[nodiscard]] bool credible(const item& entry, const verdict& verdict) const;
  void concluded(item& entry, milliseconds waited);
  [[nodiscard]] static settlement settle_of(const item& entry, settle_kind kind);
  void release(const item& entry);

  const trusted_epoch trusted_;
  marker_table& marks_;
  tiered_counters& counters_;
  const marker_table::time_point now_;
  std::vector<item> items_;
  std::vector<settlement> settles_;
};

}  // namespace onceguard::tiered
