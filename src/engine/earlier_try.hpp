// An earlier try of a claim that a caller repeats because the answer did not arrive.
#pragma once
#include <cstdint>
#include <stop_token>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

namespace onceguard {

/// A claim id for one try of the claim `repeated`. Each try has its own: whatever is done later on
/// behalf of one of them, at any process, ends the lease of no other.
[[nodiscard]] claim_id make_try_of(const claim_id& repeated);
[[nodiscard]] bool is_try_of(const claim_id& holder, const claim_id& repeated);

/// Who has the record that a try of a claim met.
enum class record_holder : std::uint8_t {
  another,  ///< another claim
  nobody,   ///< nobody any more: the next claim may get it
  unseen,   ///< there is no record to be seen
};

/// Ends the lease that an earlier try of `repeated` got, where that lease still has the record. Not
/// where the caller is gone by now, or the lease was abandoned: then that try is no earlier one,
/// and this one comes too late.
[[nodiscard]] boost::asio::awaitable<result<record_holder>> end_earlier_try(
    store& records, record_id id, claim_id repeated, std::stop_token caller, milliseconds timeout);

}  // namespace onceguard
