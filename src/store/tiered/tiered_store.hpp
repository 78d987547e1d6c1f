// A store of two levels: the truth, and a fast store in front of it, the accelerator. The
// accelerator answers duplicates, and may lose everything at any time.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/store.hpp>

#include "store/epoch_metadata.hpp"
#include "store/store_overrides.hpp"
#include "store/tiered/accelerator_monitor.hpp"
#include "store/tiered/circuit_breaker.hpp"
#include "store/tiered/marker_table.hpp"
#include "store/tiered/tiered_params.hpp"

namespace onceguard::tiered {

/// Only the truth grants leases and takes settles. Call stop() before the last io_context ends on
/// which the store is called.
class tiered_store final : public store {
 public:
  /// `metadata`: the truth's; must live as long as the truth. Blocks until both levels were polled
  /// once. An accelerator that is out of reach is opened later. errc::invalid_argument: the
  /// accelerator can't be used as one.
  [[nodiscard]] static result<std::unique_ptr<tiered_store>> open(std::unique_ptr<store> truth,
                                                                  epoch_metadata& metadata,
                                                                  accelerator_factory accelerator,
                                                                  const tiered_params& params);
  ~tiered_store() override { stop(); }

  /// The traits of a tiered store whose truth has these.
  [[nodiscard]] static store_traits traits_over(store_traits truth);

  ONCEGUARD_STORE_OVERRIDES;
  boost::asio::awaitable<result<void>> check_writes(milliseconds timeout) override;
  void on_settled(settled_listener listener) override;

  [[nodiscard]] std::vector<store_number> numbers() const override;
  [[nodiscard]] const tiered_counters& counters() const noexcept { return counters_; }
  /// Whether the accelerator is asked now.
  [[nodiscard]] bool trusts() const { return breaker_.epoch_at(base::boot_now()).has_value(); }
  /// Polls both levels now instead of at the end of the interval.
  void poll_now() { monitor_.poll_now(); }

 private:
  tiered_store(std::unique_ptr<store> truth, epoch_metadata& metadata,
               accelerator_factory accelerator, const tiered_params& params);

  boost::asio::awaitable<std::vector<result<verdict>>> claim_from_truth(
      std::vector<onceguard::claim> batch, milliseconds timeout);
  boost::asio::awaitable<void> update_accelerator(std::vector<settlement> batch);
  boost::asio::awaitable<void> extend_markers(std::vector<extension> batch,
                                              std::vector<settlement> ends);
  boost::asio::awaitable<void> drop_marker(record_id id);
  template <class Outcome>
  void note_calls(const std::vector<result<Outcome>>& replies);

  const std::unique_ptr<store> truth_;
  const tiered_params params_;
  tiered_counters counters_;
  circuit_breaker breaker_;
  marker_table markers_;
  accelerator_monitor monitor_;
  std::mutex stopping_;
};

}  // namespace onceguard::tiered
