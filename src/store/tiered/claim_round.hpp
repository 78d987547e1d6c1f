// One batch of claims through both levels, without I/O: the claims for the accelerator, then the
// claims that only the truth can answer, then the copies and releases for the accelerator.
#pragma once
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "store/tiered/circuit_breaker.hpp"
#include "store/tiered/marker_table.hpp"

namespace onceguard::tiered {

class claim_round {
 public:
  claim_round(std::vector<claim> batch, const trusted_epoch& trusted, marker_table& markers,
              tiered_counters& counters, marker_table::time_point now);

  /// The claims that ask the accelerator, each of which also places a marker. May be empty.
  [[nodiscard]] std::vector<claim> marker_claims() const;
  void take_accelerator_reply(std::vector<result<verdict>> replies);

  /// The claims that the accelerator did not answer. May be empty.
  [[nodiscard]] std::vector<claim> truth_claims() const;
  /// `waited`: the time since before the claims were sent to the truth.
  void take_truth_reply(std::vector<result<verdict>> replies, milliseconds waited);

  /// The settles for the accelerator: copies of answers, and releases of markers.
  [[nodiscard]] std::vector<settlement> take_settles() { return std::move(settles_); }
  [[nodiscard]] std::vector<result<verdict>> take_verdicts();

 private:
  enum class marker_state : std::uint8_t { none, held, in_doubt };
  struct item {
    claim request;
    tiered::marker marker;
    bool truth_only = false;  ///< not sent to the accelerator
    /// The marker that the accelerator may have is not to be believed. Known before the accelerator
    /// is asked, because the monitor may remove the marker before the reply is read.
    bool outdated = false;
    bool to_be_confirmed = false;  ///< the marker says busy, and the truth is asked all the same
    marker_state has_marker = marker_state::none;
    std::optional<result<verdict>> reply;
  };

  void take_marker_verdict(item& entry, result<verdict>& reply);
  [[nodiscard]] bool credible(const item& entry, const verdict& verdict) const;
  void take_truth_verdict(item& entry, milliseconds waited);
  void remove_marker(const item& entry);

  const trusted_epoch trusted_;
  marker_table& markers_;
  tiered_counters& counters_;
  const marker_table::time_point now_;
  std::vector<item> items_;
  std::vector<settlement> settles_;
};

}  // namespace onceguard::tiered
