#include "engine/earlier_try.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace onceguard {
namespace {

// Of a claim id. The rest tells the tries of one claim apart.
constexpr std::size_t common_size = 8;

}  // namespace

claim_id make_try_of(const claim_id& repeated) {
  claim_id out{};
  base::random_bytes(out);
  std::copy_n(repeated.begin(), common_size, out.begin());
  return out;
}

bool is_try_of(const claim_id& holder, const claim_id& repeated) {
  return std::equal(repeated.begin(), repeated.begin() + common_size, holder.begin());
}

boost::asio::awaitable<result<record_holder>> end_earlier_try(store& records, record_id id,
                                                              claim_id repeated,
                                                              std::stop_token caller,
                                                              milliseconds timeout) {
  auto found = co_await records.find(id, timeout);
  if (!found) co_return std::move(found).error();
  if (!*found) co_return record_holder::unseen;
  const auto& stored = (*found)->stored;
  const bool leased = stored.state == record_state::started ||
                      stored.state == record_state::in_progress ||
                      stored.state == record_state::probing;
  if (!leased) co_return record_holder::nobody;
  if (!is_try_of(stored.claim_id, repeated)) co_return record_holder::another;
  const bool abandoned = stored.retry_at_lease != 0;
  if (abandoned || caller.stop_requested()) co_return record_holder::another;
  lease held;
  held.token = stored.token;
  held.claim_id = stored.claim_id;
  settle_terms terms;
  terms.kind = settle_kind::release;
  std::vector<settlement> batch(1, settle_lease(id, held, stored.about, std::move(terms)));
  auto replies = co_await records.settle(std::move(batch), timeout);
  if (!replies[0]) co_return std::move(replies[0]).error();
  co_return record_holder::nobody;
}

}  // namespace onceguard
