// The handle of a granted lease, from the grant to the settle.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/engine.hpp>

#include "engine/engine_state.hpp"
#include "engine/held_lease.hpp"

namespace onceguard {

/// Where a lease is renewed, and where the work goes on that remains of its request.
struct lease_home {
  boost::asio::io_context& io;
  renewal renewed_by = renewal::by_timer;
};

/// Who is called for the events of a lease.
struct lease_watch {
  std::function<void(lease_event)> call;
  std::optional<std::stop_callback<std::function<void()>>> when_lost;
};

struct lease_handle::state final : held_lease {
  state(engine::state& engine, const lease_home& home, operation operation, onceguard::lease got,
        base::boot_clock::time_point claimed);

  engine::state& granter;
  boost::asio::io_context& io;
  operation op;
  std::uint64_t epoch;  ///< epoch of the replay cache before the work began
  bool settled = false;
  bool ended = false;
  bool resumed = false;       ///< this settle may be a repeated one, with another answer
  bool engine_ended = false;  ///< `granter` is gone, which had ended the lease
  lease_list::position listed;
  std::unique_ptr<lease_watch> watching;  ///< null: nobody
  scope_quotas::slot quota;               ///< of the scope, while the lease is held

  boost::asio::awaitable<outcome> settle(settle_terms terms);
  /// The lease was settled or given up: ends its renewal. Once more, it does nothing.
  void end() noexcept;

 private:
  outcome after_settle(const settlement& request, const onceguard::settled& reply);
  boost::asio::awaitable<outcome> superseded_outcome();
  /// What the record says after the settle of a resumed lease.
  boost::asio::awaitable<outcome> outcome_on_record(const settlement& request);
};

}  // namespace onceguard
