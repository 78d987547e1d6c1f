// The store as a process of another machine has it: calls go over the network, and may fail before
// their effect, after it, or without a word.
#pragma once
#include <functional>
#include <memory>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "store/store_overrides.hpp"
#include "store_host.hpp"

namespace onceguard::sim {

class remote_store final : public store, public epoch_metadata {
 public:
  /// `with_holders`: those of the leases learn at once what is answered here.
  remote_store(world& around, machine& node, store_host& host, bool with_holders = true)
      : world_(around), node_(node), host_(host), with_holders_(with_holders) {}
  ~remote_store() override { host_.forget_listener(this); }

  ONCEGUARD_STORE_OVERRIDES;
  void on_settled(settled_listener listener) override;
  boost::asio::awaitable<result<epoch_reading>> read_epoch(std::string accelerator,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<bool>> note(accelerator_state found, std::string distrusted,
                                            milliseconds timeout) override;

 private:
  /// What kind of call it is: the plan has faults of acts, others have those of the network. A
  /// claim reaches no store twice, as its connection repeats nothing.
  enum class of : std::uint8_t { claim, settle, extend, act, read };
  [[nodiscard]] static call_kind counted_as(of kind) noexcept;
  template <class Result>
  boost::asio::awaitable<Result> ask(std::function<boost::asio::awaitable<Result>(store&)> call,
                                     std::function<Result(error)> failed, milliseconds timeout,
                                     of kind);

  world& world_;
  machine& node_;
  store_host& host_;
  const bool with_holders_;
};

}  // namespace onceguard::sim
