// An operation whose record may stand at several places, as the scope of its route was changed.
//
// Each place decides for itself, so two of them may grant a lease at the same time. Who was granted
// one looks at all other places before it sends anything. Of two that do so at least one sees the
// other, and gives its own lease back.
#include "base/clock.hpp"
#include "engine/engine.hpp"
#include "engine/held_lease.hpp"

namespace onceguard {

namespace asio = boost::asio;

result<void> engine::remake(operation& op, work& doing, std::string_view method) {
  auto print = doing.remake(*op.about, method);
  if (!print) return error(errc::record_unreadable, print.error().detail);
  auto about = std::make_shared<subject>(*op.about);
  about->print = std::move(*print);
  op.about = std::move(about);
  return {};
}

asio::awaitable<result<bool>> engine::go_where_it_is(operation& op) {
  for (const auto& place : op.places) {
    if (place.id == op.id) continue;
    const auto found = co_await store_.find(place.id, params_.store_timeout);
    if (!found) co_return found.error();
    if (!*found || (*found)->state == observed_state::released) continue;
    op.id = place.id;
    op.about = place.about;
    co_return true;
  }
  co_return false;
}

asio::awaitable<result<bool>> engine::yield_to_another_place(asio::io_context& io, operation& op,
                                                             lease got) {
  operation own = op;
  auto moved = co_await go_where_it_is(op);
  if (moved && !*moved) co_return false;
  settlement back;
  back.id = own.id;
  back.token = got.token;
  back.claim_id = got.claim_id;
  back.about = own.about;
  back.kind = settle_kind::release;  // nothing was sent
  own.answer_room = nullptr;
  // Never renewed: it is over before that.
  held_lease held(io, store_, own.id, got, own.policy->lease, params_.store_timeout,
                  base::boot_now());
  co_await finish(io, own, held, std::move(back), cache_.epoch());
  co_return moved;
}

}  // namespace onceguard
