#include "store_host.hpp"

#include <algorithm>
#include <charconv>

#include "noting_store.hpp"

namespace onceguard::sim {

namespace asio = boost::asio;
using asio::awaitable;

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

store_host::store_host(world& around, machine& node, const key_names& keys, bool hints,
                       store_level level)
    : world_(around), node_(node), names_(keys), hints_(hints), level_(level) {
  world_.boot(node_);
  world_.on(node_, [this, &keys] { records_ = std::make_unique<noting_store>(*this, keys); });
  traits_ = records_->traits();
  if (level == store_level::journal) start();
}

void store_host::note_of_machine(event_kind kind) {
  world_.events().add(
      {.time = world_.now(), .kind = kind, .machine = static_cast<std::uint8_t>(node_.index)});
}

/// The process of a journal begins.
void store_host::start() {
  going_down_ = false;
  if (!node_.up) world_.boot(node_);
  note_of_machine(event_kind::restart);
  result<void> opened;
  world_.on(node_, [this, &opened] { opened = records_->journal()->start(); });
  if (going_down_) return;
  if (!opened) {  // whoever looks after the process tries again
    world_.power_off(node_);
    return world_.after(50 * millisecond, [this] { start(); });
  }
  world_.on(node_, [this] {
    asio::co_spawn(*node_.loop, records_->note_what_was_done(),
                   [](const std::exception_ptr& failure) {
                     if (failure) std::rethrow_exception(failure);
                   });
  });
  world_.after_on(node_, 0, [] {});  // its loop runs
}

void store_host::crash(const disturbance& cause) {
  if (going_down_ || !node_.up) return;
  going_down_ = true;
  records_->journal()->cut_off();
  world_.after(0, [this, cause] { go_down(cause); });
}

void store_host::go_down(const disturbance& cause) {
  const bool power_cut = cause.where == 0;
  // What stands on the disk is noted, though nobody gets an answer.
  node_.stopped_until = world_.now();
  world_.on(node_, [this] {
    node_.loop->restart();
    while (node_.loop->poll_one() != 0) continue;
  });
  note_of_machine(event_kind::crash);
  if (power_cut) note_of_machine(event_kind::reboot);
  world_.power_off(node_);
  world_.on(node_, [this, power_cut] { records_->end(power_cut); });
  world_.after(cause.length.count() * millisecond, [this] { start(); });
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
