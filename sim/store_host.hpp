// The machine that has the store: it carries out what arrives, and notes what it did.
#pragma once
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

#include <onceguard/store.hpp>

#include "store/epoch_metadata.hpp"
#include "world.hpp"

namespace onceguard::sim {

/// The numbers of records and answers in the history.
class key_names {
 public:
  void add(const record_id& id, std::uint16_t number) { numbers_[id] = number; }
  [[nodiscard]] std::uint16_t number_of(const record_id& id) const {
    const auto found = numbers_.find(id);
    return found == numbers_.end() ? std::uint16_t{0xffff} : found->second;
  }

 private:
  std::map<record_id, std::uint16_t> numbers_;
};

/// An answer is known by its number, which is its body.
[[nodiscard]] answer_ptr make_answer(std::uint64_t number);
[[nodiscard]] std::uint64_t number_of(const answer_ptr& answer);

enum class store_level : std::uint8_t {
  truth,
  front,
  journal,  ///< the truth, as a journal on a disk
};

class store_host {
 public:
  /// `hints`: it announces to the gateways what was settled.
  store_host(world& around, machine& node, const key_names& keys, bool hints,
             store_level level = store_level::truth);
  ~store_host();
  store_host(const store_host&) = delete;
  store_host& operator=(const store_host&) = delete;

  [[nodiscard]] machine& node() noexcept { return node_; }
  [[nodiscard]] const store_traits& traits() const noexcept { return traits_; }
  [[nodiscard]] const key_names& names() const noexcept { return names_; }

  /// Carries a call out; `done` gets its result on this machine.
  template <class Result>
  void carry_out(std::function<boost::asio::awaitable<Result>(store&)> call,
                 std::function<void(Result)> done) {
    boost::asio::co_spawn(
        *node_.loop, call(records()),
        [this, done = std::move(done)](std::exception_ptr failure, Result result) {
          if (failure) std::rethrow_exception(failure);
          // A machine that is going down answers nothing any more.
          if (!going_down_) done(std::move(result));
        });
  }
  /// The settle of an application in its own transaction: true if the transaction commits.
  void settle_in_transaction(settlement request, std::function<void(bool)> done);

  /// Loses what it wrote for so long, as after a power cut without a flush. `as_itself`: under the
  /// identity that it had.
  void forget(milliseconds length, bool as_itself = false);
  [[nodiscard]] epoch_metadata& metadata() noexcept;
  /// Of a journal: its machine loses its power, or its process is killed; it comes back.
  void crash(const disturbance& cause);

  /// Settings of a listener are those of a process, which may end.
  void listen(const void* owner, machine& where, settled_listener listener);
  void forget_listener(const void* owner);

 private:
  class noting_store;
  struct listening {
    const void* owner;
    std::uint64_t number;
    machine* where;
    settled_listener call;
  };
  [[nodiscard]] store& records() noexcept;
  static boost::asio::awaitable<bool> commit(store& records, settlement request);
  void start();
  void go_down(const disturbance& cause);
  void note_of_machine(event_kind kind);
  void announce(const std::vector<std::uint64_t>& settled);

  world& world_;
  machine& node_;
  const key_names& names_;
  const bool hints_;
  const store_level level_;
  store_traits traits_;
  std::unique_ptr<noting_store> records_;
  bool going_down_ = false;
  std::vector<listening>
      listeners_;  // in the order of their arrival: by address, runs would differ
  std::uint64_t listened_ = 0;
};

}  // namespace onceguard::sim
