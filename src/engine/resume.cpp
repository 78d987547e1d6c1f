// Leases whose handle is gone: after a restart, or when their holder's connection ended.
#include <stdexcept>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "engine/background.hpp"
#include "engine/lease_handle.hpp"
#include "engine/one_thread.hpp"

namespace onceguard {

inline namespace v1 {

std::string print_mark(const fingerprint& print) {
  std::string text = print.method;
  text += ' ';
  base::append_hex(text, print.value);
  return base::to_hex(base::sha256_of(text)).substr(0, 16);
}

}  // namespace v1

namespace asio = boost::asio;

namespace {

using resumed = result<std::optional<lease_handle>>;

asio::awaitable<resumed> resume_lease(engine::state& engine, asio::io_context& io, operation op,
                                      lease held, std::string mark) {
  const auto until = base::boot_now() + engine.params.settle_wait;
  retry_pause pause;
  auto found = co_await engine.records.find(op.id, engine.params.store_timeout);
  while (!found) {
    engine.monitor.note(found.error());
    const bool late = base::boot_now() + pause.next() >= until || engine.behind.stopping();
    if (late || !found.error().retryable()) co_return std::move(found).error();
    co_await pause.sleep();
    found = co_await engine.records.find(op.id, engine.params.store_timeout);
  }
  if (!*found) co_return std::optional<lease_handle>();
  const auto& stored = (*found)->stored;
  op.about = stored.about;
  if (print_mark(op.about->print) != mark) {
    if (stored.token == held.token && stored.claim_id == held.claim_id) {
      co_return error(errc::not_found, "the mark is of another operation than the lease");
    }
    // Another operation has the key by now. Its answer must not be taken for this one's.
    auto about = std::make_shared<subject>(*op.about);
    about->print = {};
    op.about = std::move(about);
  }
  if (held.attempt == 0) held.attempt = (*found)->stored.attempt;
  const lease_home home{io, renewal::by_rounds};
  auto state =
      std::make_shared<lease_handle::state>(engine, home, std::move(op), held, base::boot_now());
  state->resumed = true;
  std::optional<lease_handle> out(std::in_place, std::move(state));
  co_return out;
}

}  // namespace

asio::awaitable<resumed> engine::resume(operation op, lease held, std::string mark) {
  auto* const io = state_->background_io.load();
  if (io == nullptr) throw std::logic_error("engine::resume: the engine was not started");
  return on_one_thread(*io,
                       resume_lease(*state_, *io, std::move(op), std::move(held), std::move(mark)));
}

}  // namespace onceguard
