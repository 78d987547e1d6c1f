#include "store_host.hpp"

#include <algorithm>
#include <charconv>

#include "base/clock.hpp"
#include "engine/background.hpp"
#include "forgetful_store.hpp"
#include "store/forwarding_store.hpp"

namespace onceguard::sim {
namespace {

namespace asio = boost::asio;
using asio::awaitable;

std::int64_t length_of(milliseconds time) noexcept {
  // Durations saturate: what is "for ever" must not wrap here.
  return std::min<std::int64_t>(time.count(), 1'000'000'000'000) * millisecond;
}

std::uint64_t prefix_of(const record_id& id) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 8; ++i) out = out << 8 | id[i];
  return out;
}

}  // namespace

answer_ptr make_answer(std::uint64_t number) {
  auto made = std::make_shared<answer>();
  made->status = 200;
  made->body = std::to_string(number);
  return made;
}

std::uint64_t number_of(const answer_ptr& answer) {
  std::uint64_t out = 0;
  if (answer) {
    std::from_chars(answer->body.data(), answer->body.data() + answer->body.size(), out);
  }
  return out;
}

/// The real store, which notes in the history what it granted and wrote.
class store_host::noting_store final : public forwarding_store, public epoch_metadata {
 public:
  noting_store(store_host& host, const key_names& keys)
      : host_(host), keys_(keys), real_(host.level_ == store_level::front) {}

  awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                milliseconds timeout) override {
    if (co_await is_hidden(batch)) co_return busy_each(batch.size());
    auto replies = co_await real_.claim(batch, timeout);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!replies[i] || replies[i]->kind != verdict_kind::run) continue;
      const auto& got = replies[i]->lease;
      note(got.probe ? event_kind::probe_grant : event_kind::grant, batch[i].id, got.token,
           length_of(batch[i].lease), batch[i].maybe_repeated ? 1 : 0);
    }
    if (const auto* hangs = host_.world_.next_of(disturbance_kind::hang)) {
      for (const auto& each : batch) hidden_until_[each.id] = base::boot_now() + hangs->length;
      co_await sleep_for(hangs->length);
    }
    co_return replies;
  }

  awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                 milliseconds timeout) override {
    for (const auto& each : batch) co_await commit_of(each.id);
    auto replies = co_await real_.settle(batch, timeout);
    std::vector<std::uint64_t> changed;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!replies[i] || replies[i]->outcome == settle_outcome::stale) continue;
      const auto kind = std::array{event_kind::complete, event_kind::fail, event_kind::release,
                                   event_kind::abandon}[static_cast<std::size_t>(batch[i].kind)];
      auto number = batch[i].token;
      if (number == 0) {  // the claim id alone names the lease, if it has one
        const auto found = co_await real_.find(batch[i].id, timeout);
        if (!found || !*found || (*found)->stored.claim_id != batch[i].claim_id) continue;
        number = (*found)->stored.token;
      }
      const bool kept = batch[i].kind == settle_kind::complete;
      note(kind, batch[i].id, number, kept ? length_of(batch[i].retention) : 0,
           number_of(batch[i].answer));
      changed.push_back(prefix_of(batch[i].id));
    }
    if (!changed.empty()) host_.announce(changed);
    co_return replies;
  }

  awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                              milliseconds timeout) override {
    for (const auto& each : batch) co_await commit_of(each.id);
    auto replies = co_await real_.extend(batch, timeout);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!replies[i] || !*replies[i]) continue;
      note(event_kind::extend, batch[i].id, batch[i].token, length_of(batch[i].lease),
           batch[i].dispatch ? 1 : 0);
    }
    co_return replies;
  }

  /// What was written in that time is gone.
  awaitable<void> forget(milliseconds length, bool as_itself) {
    hidden_until_.clear();
    const auto now = host_.world_.now();
    const bool front = host_.level_ == store_level::front;
    host_.world_.events().add({.time = now,
                               .kind = front ? event_kind::lose_copies : event_kind::lose_memory,
                               .machine = static_cast<std::uint8_t>(host_.node_.index),
                               .value = now - length.count() * millisecond});
    const auto before = co_await vitals(milliseconds(0));
    identity_ = as_itself ? before->identity : std::string();
    co_await real_.forget(length);
  }

  awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override {
    auto out = co_await real_.vitals(timeout);
    if (out && !identity_.empty()) out->identity = identity_;
    co_return out;
  }

  // --- the epoch, which ends in the transaction that releases an answer

  awaitable<result<epoch_reading>> read_epoch(std::string accelerator,
                                              milliseconds timeout) override {
    const auto known = co_await vitals(timeout);
    epoch_reading out;
    out.epoch = std::to_string(epochs_ended_);
    out.origin = known->identity;
    out.forgotten = known->forgotten;
    out.generation = known->generation;
    out.now = base::system_clock().wall_ms();
    if (noted_ && noted_->identity == accelerator) out.noted = noted_;
    co_return out;
  }
  awaitable<result<bool>> note(accelerator_state found, std::string distrusted,
                               milliseconds /*timeout*/) override {
    noted_ = std::move(found);
    const bool ends = distrusted == std::to_string(epochs_ended_);
    if (ends) ++epochs_ended_;
    co_return ends;
  }

  awaitable<result<resolve_decision>> resolve(resolution request, milliseconds timeout) override {
    co_await commit_of(request.id);
    auto reply = co_await real_.resolve(request, timeout);
    if (reply && reply->forgets_answer) ++epochs_ended_;
    if (reply && reply->outcome == resolve_outcome::done) {
      note(event_kind::resolve, request.id, request.token,
           request.completed ? length_of(request.retention) : 0, number_of(request.answer));
    }
    co_return reply;
  }

 protected:
  [[nodiscard]] result<store*> target() const override { return &real_; }

 private:
  /// Whether a commit that hangs has a record of these claims. A repeat waits a little for it.
  awaitable<bool> is_hidden(const std::vector<onceguard::claim>& batch) {
    for (const auto& each : batch) {
      const auto left = time_until_commit(each.id);
      if (left.count() <= 0) continue;
      if (!each.repeated) co_return true;
      co_await sleep_for(std::min(left, milliseconds(200)));
      if (time_until_commit(each.id).count() > 0) co_return true;
    }
    co_return false;
  }
  awaitable<void> commit_of(record_id id) {
    const auto left = time_until_commit(id);
    if (left.count() > 0) co_await sleep_for(left);
  }
  [[nodiscard]] milliseconds time_until_commit(const record_id& id) const {
    const auto found = hidden_until_.find(id);
    if (found == hidden_until_.end()) return milliseconds(0);
    return std::chrono::ceil<milliseconds>(found->second - base::boot_now());
  }
  static std::vector<result<verdict>> busy_each(std::size_t count) {
    verdict busy;
    busy.kind = verdict_kind::busy;
    busy.retry_after = milliseconds(100);
    return std::vector<result<verdict>>(count, result<verdict>(busy));
  }

  void note(event_kind kind, const record_id& id, token number, std::int64_t length,
            std::uint64_t body) {
    const auto now = host_.world_.now();
    host_.world_.events().add({.time = now,
                               .kind = kind,
                               .machine = static_cast<std::uint8_t>(host_.node_.index),
                               .key = keys_.number_of(id),
                               .number = number,
                               .value = length == 0 ? 0 : now + length,
                               .body = body});
  }

  store_host& host_;
  const key_names& keys_;
  std::map<record_id, base::boot_clock::time_point> hidden_until_;
  mutable forgetful_store real_;
  std::string identity_;  // empty: that of the real one
  std::uint64_t epochs_ended_ = 0;
  std::optional<accelerator_state> noted_;
};

store_host::store_host(world& around, machine& node, const key_names& keys, bool hints,
                       store_level level)
    : world_(around), node_(node), names_(keys), hints_(hints), level_(level) {
  world_.boot(node_);
  world_.on(node_, [this, &keys] { records_ = std::make_unique<noting_store>(*this, keys); });
  traits_ = records_->traits();
}

store& store_host::records() noexcept { return *records_; }
epoch_metadata& store_host::metadata() noexcept { return *records_; }

store_host::~store_host() { world_.power_off(node_); }

/// In another transaction than the one that has completed it, the effect would be a second one.
awaitable<bool> store_host::commit(store& records, settlement request) {
  const auto found = co_await records.find(request.id, milliseconds(0));
  if (!found || !*found || (*found)->state == observed_state::completed) co_return false;
  std::vector<settlement> batch(1, std::move(request));
  const auto replies = co_await records.settle(std::move(batch), milliseconds(0));
  co_return replies[0] && replies[0]->outcome == settle_outcome::done;
}

void store_host::settle_in_transaction(settlement request, std::function<void(bool)> done) {
  carry_out<bool>(
      [request = std::move(request)](store& records) { return commit(records, request); },
      std::move(done));
}

void store_host::forget(milliseconds length, bool as_itself) {
  world_.on(node_, [this, length, as_itself] {
    asio::co_spawn(*node_.loop, records_->forget(length, as_itself),
                   [](const std::exception_ptr& failure) {
                     if (failure) std::rethrow_exception(failure);
                   });
  });
  world_.after_on(node_, 0, [] {});  // its loop runs
}

void store_host::listen(const void* owner, machine& where, settled_listener listener) {
  listeners_.push_back({owner, ++listened_, &where, std::move(listener)});
}

void store_host::forget_listener(const void* owner) {
  std::erase_if(listeners_, [owner](const listening& each) { return each.owner == owner; });
}

/// A hint, as stores give it: some processes do not get it.
void store_host::announce(const std::vector<std::uint64_t>& settled) {
  if (!hints_) return;
  for (const auto& each : listeners_) {
    world_.send(node_, *each.where, message_kind::store_reply,
                [this, number = each.number, settled] {
                  const auto found = std::ranges::find(listeners_, number, &listening::number);
                  if (found != listeners_.end()) found->call(settled);
                });
  }
}

}  // namespace onceguard::sim
