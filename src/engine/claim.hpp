// Claims an operation: the result is a lease or an outcome to send.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/engine.hpp>

#include "engine/held_lease.hpp"
#include "engine/state.hpp"

namespace onceguard {

// The state of a lease_handle.

struct lease_handle::state final : held_lease {
  state(engine::state& engine, boost::asio::io_context& io, operation operation,
        onceguard::lease got, base::boot_clock::time_point claimed);

  engine::state& granter;
  boost::asio::io_context& io;
  operation op;
  std::uint64_t epoch;  ///< epoch of the replay cache before the work began
  bool settled = false;
  lease_list::position listed;

  boost::asio::awaitable<outcome> settle(settle_terms terms);
  /// The lease was settled or given up: ends its renewal.
  void end() noexcept;

 private:
  outcome after_settle(const settlement& request, const onceguard::settled& reply);
  boost::asio::awaitable<outcome> superseded_outcome();
};

/// See engine::claim().
[[nodiscard]] boost::asio::awaitable<claim_result> claim_operation(engine::state& engine,
                                                                   boost::asio::io_context& io,
                                                                   operation operation);

}  // namespace onceguard
