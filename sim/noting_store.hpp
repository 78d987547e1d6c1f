// The store on the store's machine, which notes in the history what it granted and wrote.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "calls_in_doubt.hpp"
#include "engine/background.hpp"
#include "forgetful_store.hpp"
#include "journal_process.hpp"
#include "store/forwarding_store.hpp"
#include "store_host.hpp"

namespace onceguard::sim {

/// The real store, which notes in the history what it granted and wrote.
class store_host::noting_store final : public forwarding_store, public epoch_metadata {
 public:
  noting_store(store_host& host, const key_names& keys) : host_(host), keys_(keys) {
    if (host.level_ == store_level::journal) {
      auto& around = host.world_;
      auto made = std::make_unique<journal_process>(around, host.node_, around.random().next());
      made->on_crash = [&host](const disturbance& cause) { host.crash(cause); };
      journal_ = made.get();
      real_ = std::move(made);
    } else {
      auto made = std::make_unique<forgetful_store>(host.level_ == store_level::front);
      forgetful_ = made.get();
      real_ = std::move(made);
    }
  }
  /// Null: it is no journal.
  [[nodiscard]] journal_process* journal() const noexcept { return journal_; }
  void end(bool power_cut) {
    hidden_until_.clear();
    journal_->end(power_cut);
  }

  boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) override {
    if (co_await is_hidden(batch)) co_return busy_each(batch.size());
    auto replies = co_await real_->claim(batch, within(timeout));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      note_failure(replies[i], batch[i]);
      if (!replies[i] || replies[i]->kind != verdict_kind::run) continue;
      const auto& got = replies[i]->lease;
      note_grant(batch[i], got.token, got.probe, decided_at() + length_of(batch[i].lease));
    }
    if (const auto* hangs = host_.world_.next_of(disturbance_kind::hang)) {
      for (const auto& each : batch) hidden_until_[each.id] = base::boot_now() + hangs->length;
      co_await sleep_for(hangs->length);
    }
    co_return replies;
  }

  boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                              milliseconds timeout) override {
    for (const auto& each : batch) co_await commit_of(each.id);
    auto replies = co_await real_->settle(batch, within(timeout));
    std::vector<std::uint64_t> changed;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      note_failure(replies[i], batch[i]);
      if (!replies[i] || replies[i]->outcome == settle_outcome::stale) continue;
      auto number = batch[i].token;
      if (number == 0 && journal_ != nullptr) {
        // At once: a claim of the same group may be noted next.
        number = token_of(batch[i]);
        if (number == 0) continue;
      } else if (number == 0) {  // the claim id alone names the lease, if it has one
        const auto found = co_await real_->find(batch[i].id, timeout);
        if (!found || !*found || (*found)->stored.claim_id != batch[i].claim_id) continue;
        number = (*found)->stored.token;
      }
      note_end(batch[i], number);
      changed.push_back(prefix_of(batch[i].id));
    }
    if (!changed.empty()) host_.announce(changed);
    co_return replies;
  }

  boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                           milliseconds timeout) override {
    for (const auto& each : batch) co_await commit_of(each.id);
    auto replies = co_await real_->extend(batch, within(timeout));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      note_failure(replies[i], batch[i]);
      if (!replies[i] || !*replies[i]) continue;
      note_extension(batch[i], decided_at() + length_of(batch[i].lease));
    }
    co_return replies;
  }

  /// What was written in that time is gone.
  boost::asio::awaitable<void> forget(milliseconds length, bool as_itself) {
    hidden_until_.clear();
    const auto now = host_.world_.now();
    const bool front = host_.level_ == store_level::front;
    host_.world_.events().add({.time = now,
                               .kind = front ? event_kind::lose_copies : event_kind::lose_memory,
                               .machine = static_cast<std::uint8_t>(host_.node_.index),
                               .value = now - length.count() * millisecond});
    const auto before = co_await vitals(milliseconds(0));
    identity_ = as_itself ? before->identity : std::string();
    co_await forgetful_->forget(length);
  }

  boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override {
    auto out = co_await real_->vitals(timeout);
    if (out && !identity_.empty()) out->identity = identity_;
    co_return out;
  }

  // --- the epoch, which ends in the transaction that releases an answer

  boost::asio::awaitable<result<epoch_reading>> read_epoch(std::string accelerator,
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
  boost::asio::awaitable<result<bool>> note(accelerator_state found, std::string distrusted,
                                            milliseconds /*timeout*/) override {
    noted_ = std::move(found);
    const bool ends = distrusted == std::to_string(epochs_ended_);
    if (ends) ++epochs_ended_;
    co_return ends;
  }

  boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                           milliseconds timeout) override {
    co_await commit_of(request.id);
    auto reply = co_await real_->resolve(request, within(timeout));
    note_failure(reply, request);
    if (reply && reply->forgets_answer) ++epochs_ended_;
    if (reply && reply->outcome == resolve_outcome::done) note_resolution(request);
    co_return reply;
  }

  /// After a crash: what was carried out of the calls that got no word of it.
  boost::asio::awaitable<void> note_what_was_done() {
    journal_->hurry(true);
    for (const auto& id : in_doubt_.records()) {
      const auto found = co_await real_->find(id, patience);
      if (!found || !*found) continue;
      const auto left = std::max<std::int64_t>((*found)->lease_left.count(), 0);
      const auto until = host_.world_.now() + left * millisecond;
      for (const auto& done : in_doubt_.carried_out(**found, leases_[id].number)) {
        if (const auto* claimed = std::get_if<onceguard::claim>(&done)) {
          const bool probes = (*found)->stored.state == record_state::probing;
          note_grant(*claimed, (*found)->stored.token, probes, until);
        } else if (const auto* ended = std::get_if<settlement>(&done)) {
          note_end(*ended, ended->token != 0 ? ended->token : (*found)->stored.token);
        } else if (const auto* renewed = std::get_if<extension>(&done)) {
          note_extension(*renewed, std::max(until, leases_[id].end));
        } else {
          note_resolution(std::get<resolution>(done));
        }
      }
    }
    in_doubt_.clear();
    journal_->hurry(false);
  }

 protected:
  [[nodiscard]] result<store*> target() const override { return real_.get(); }

 private:
  static constexpr milliseconds patience{60'000};

  static std::int64_t length_of(milliseconds time) noexcept {
    // Durations saturate: what is "for ever" must not wrap here.
    return std::min<std::int64_t>(time.count(), 1'000'000'000'000) * millisecond;
  }
  static std::uint64_t prefix_of(const record_id& id) {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < 8; ++i) out = out << 8 | id[i];
    return out;
  }

  /// Of a journal each group has its result at once, or its machine is stopped.
  [[nodiscard]] milliseconds within(milliseconds timeout) const noexcept {
    return journal_ != nullptr ? patience : timeout;
  }
  [[nodiscard]] nanoseconds decided_at() const noexcept {
    return journal_ != nullptr ? journal_->decided_at() : host_.world_.now();
  }
  template <class Reply, class Request>
  void note_failure(const Reply& reply, const Request& request) {
    if (journal_ != nullptr && !reply && reply.error().effect != effect::none)
      in_doubt_.add(request);
  }
  [[nodiscard]] token token_of(const settlement& request) const {
    const auto found = leases_.find(request.id);
    return found != leases_.end() && found->second.holder == request.claim_id ? found->second.number
                                                                              : token{0};
  }

  void note_grant(const onceguard::claim& request, token number, bool probes, nanoseconds until) {
    leases_[request.id] = {number, request.claim_id, until};
    note(probes ? event_kind::probe_grant : event_kind::grant, request.id, number, until,
         request.maybe_repeated ? 1 : 0);
  }
  void note_extension(const extension& request, nanoseconds until) {
    leases_[request.id].end = until;
    note(event_kind::extend, request.id, request.token, until, request.dispatch ? 1 : 0);
  }
  void note_end(const settlement& request, token number) {
    const auto kind = std::array{event_kind::complete, event_kind::fail, event_kind::release,
                                 event_kind::abandon}[static_cast<std::size_t>(request.kind)];
    const bool kept = request.kind == settle_kind::complete;
    note(kind, request.id, number, kept ? decided_at() + length_of(request.retention) : 0,
         number_of(request.answer));
  }
  void note_resolution(const resolution& request) {
    note(event_kind::resolve, request.id, request.token,
         request.completed ? decided_at() + length_of(request.retention) : 0,
         number_of(request.answer));
  }

  /// Whether a commit that hangs has a record of these claims. A repeat waits a little for it.
  boost::asio::awaitable<bool> is_hidden(const std::vector<onceguard::claim>& batch) {
    for (const auto& each : batch) {
      const auto left = time_until_commit(each.id);
      if (left.count() <= 0) continue;
      if (!each.repeated) co_return true;
      co_await sleep_for(std::min(left, milliseconds(200)));
      if (time_until_commit(each.id).count() > 0) co_return true;
    }
    co_return false;
  }
  boost::asio::awaitable<void> commit_of(record_id id) {
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

  void note(event_kind kind, const record_id& id, token number, nanoseconds until,
            std::uint64_t body) {
    host_.world_.events().add({.time = host_.world_.now(),
                               .kind = kind,
                               .machine = static_cast<std::uint8_t>(host_.node_.index),
                               .key = keys_.number_of(id),
                               .number = number,
                               .value = until,
                               .body = body});
  }

  store_host& host_;
  const key_names& keys_;
  std::map<record_id, base::boot_clock::time_point> hidden_until_;
  std::unique_ptr<store> real_;
  forgetful_store* forgetful_ = nullptr;  // one of these is the real one
  journal_process* journal_ = nullptr;
  calls_in_doubt in_doubt_;
  /// The lease of each record that was noted last.
  struct noted_lease {
    token number = 0;
    claim_id holder{};
    nanoseconds end = 0;
  };
  std::map<record_id, noted_lease> leases_;
  std::string identity_;  // empty: that of the real one
  std::uint64_t epochs_ended_ = 0;
  std::optional<accelerator_state> noted_;
};

}  // namespace onceguard::sim
