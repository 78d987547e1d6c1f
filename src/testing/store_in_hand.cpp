#include <atomic>
#include <stdexcept>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/fingerprint.hpp>
#include <onceguard/testing.hpp>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "core/request.hpp"
#include "guard/blocking.hpp"
#include "store/forwarding_store.hpp"
#include "store/memory/memory_store.hpp"

namespace onceguard::testing {

namespace {

namespace asio = boost::asio;
using asio::awaitable;

class clock_in_hand final : public base::clock {
 public:
  [[nodiscard]] std::int64_t boot_ms() const noexcept override {
    return base::system_clock().boot_ms() + ahead_;
  }
  [[nodiscard]] std::int64_t wall_ms() const noexcept override {
    return base::system_clock().wall_ms() + ahead_;
  }
  [[nodiscard]] const std::string& boot_id() const noexcept override {
    return base::system_clock().boot_id();
  }
  void advance(milliseconds time) noexcept { ahead_ += time.count(); }

 private:
  std::atomic<std::int64_t> ahead_{0};
};

}  // namespace

struct store_in_hand::state {
  clock_in_hand clock;
  memory_store records{clock};
  std::atomic<bool> reachable{true};
};

namespace {

/// The records of a store_in_hand, as long as it can be reached.
template <class State>
class opened_store final : public forwarding_store {
 public:
  explicit opened_store(std::shared_ptr<State> shared) : shared_(std::move(shared)) {}

  [[nodiscard]] store_traits traits() const override { return shared_->records.traits(); }
  void stop() override {}  // the records may be open elsewhere

 private:
  [[nodiscard]] result<store*> target() const override {
    if (shared_->reachable) return &shared_->records;
    return error(errc::store_unreachable, "store in hand: the test made it unreachable");
  }

  const std::shared_ptr<State> shared_;
};

}  // namespace

store_in_hand::store_in_hand() : state_(std::make_shared<state>()) {}
store_in_hand::~store_in_hand() = default;

std::unique_ptr<store> store_in_hand::open() {
  return std::make_unique<opened_store<state>>(state_);
}

void store_in_hand::advance(milliseconds time) { state_->clock.advance(time); }
void store_in_hand::set_reachable(bool reachable) { state_->reachable = reachable; }

namespace {

onceguard::claim claim_elsewhere(memory_store& records, const request& request,
                                 milliseconds lease) {
  onceguard::claim out;
  const auto digests = digests_of(request);
  out.about = subject_of(request, digests);
  out.id = digests.id;
  base::random_bytes(out.claim_id);
  out.lease = lease;
  std::vector<onceguard::claim> batch(1, out);
  const auto replies = run_here(records.claim(std::move(batch), milliseconds(0)));
  if (!replies[0] || replies[0]->kind != verdict_kind::run) {
    throw std::logic_error("store_in_hand: the key " + request.key + " has a record already");
  }
  return out;
}

}  // namespace

void store_in_hand::make_busy(const request& request, milliseconds lease) {
  claim_elsewhere(state_->records, request, lease);
}

void store_in_hand::make_unknown(const request& request) {
  const auto made = claim_elsewhere(state_->records, request, milliseconds(1'000));
  const auto found = run_here(state_->records.find(made.id, milliseconds(0)));
  settle_terms terms;
  terms.kind = settle_kind::abandon;
  terms.why = unknown_reason::holder_gone;
  onceguard::lease held;
  held.token = (*found)->stored.token;
  held.claim_id = made.claim_id;
  std::vector<settlement> batch(1, settle_lease(made.id, held, made.about, terms));
  static_cast<void>(run_here(state_->records.settle(std::move(batch), milliseconds(0))));
}

}  // namespace onceguard::testing
