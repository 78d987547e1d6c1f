// A store for tests that wraps another and goes wrong on request: before the call is carried
// out, after it, or after it while claiming that it timed out; or it lets the call wait.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <optional>

#include <boost/asio/steady_timer.hpp>

#include <onceguard/store.hpp>

namespace onceguard {

enum class store_call : std::uint8_t {
  claim,
  settle,
  extend,
  resolve,
  find,
  list,
  count,
  sweep,
  vitals,
  import_record,
};
inline constexpr std::size_t store_calls = 10;

enum class store_fault : std::uint8_t {
  before,          ///< not carried out: store_unreachable, effect none
  after,           ///< carried out: store_unreachable, effect done
  after_timeout,   ///< carried out: store_unreachable, effect unknown
  before_timeout,  ///< not carried out, but nobody can tell: effect unknown
  full,            ///< not carried out: store_full, effect none
  lost,            ///< not carried out: store_lost, effect none
  unreadable,      ///< not carried out: record_unreadable, effect none
  illegible,       ///< carried out: record_unreadable, effect done
  too_big,         ///< not carried out: invalid_argument, effect none
  delay_before,    ///< waits for `let_go`, then is carried out
  delay_after,     ///< is carried out, then waits for `let_go`
};

/// For coroutines on io_contexts that one and the same thread runs. The wrapped store must
/// outlive it. Each member of the contract behaves as the wrapped store's where no fault is set.
class faulty_store final : public store {
 public:
  static constexpr std::size_t always = std::numeric_limits<std::size_t>::max();

  explicit faulty_store(store& inner) : inner_(inner) {}

  /// The next `times` such calls go wrong like that; a later word replaces the one before.
  void fail(store_call which, store_fault fault, std::size_t times = always);
  void heal(store_call which) { fail(which, {}, 0); }
  /// Everything goes wrong like that, until `heal_all`.
  void fail_all(store_fault fault);
  void heal_all();
  /// The next `times` claims are not carried out and get "busy", as while a transaction that is
  /// still open holds their keys.
  void say_busy(std::size_t times) { busy_ = times; }
  /// Ends the waiting of all calls that are delayed now.
  void let_go();
  [[nodiscard]] std::size_t waiting() const noexcept { return gates_.size(); }
  /// So many such calls were made, faults included.
  [[nodiscard]] std::size_t made(store_call which) const noexcept;
  /// So many claims said that they were repeated.
  [[nodiscard]] std::size_t repeated() const noexcept { return repeated_; }
  /// As if another process had settled these.
  void announce(const std::vector<std::uint64_t>& settled) const {
    if (reported_) reported_(settled);
  }
  /// What `vitals` returns in place of the wrapped store's, until reset.
  void pretend(std::optional<onceguard::vitals> reply) { pretended_ = std::move(reply); }

  [[nodiscard]] store_traits traits() const override { return inner_.traits(); }
  boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                              milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds timeout) override;
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override;
  boost::asio::awaitable<result<counts>> count(std::string cursor, milliseconds timeout) override;
  boost::asio::awaitable<result<import_outcome>> import_record(imported_record request,
                                                               milliseconds timeout) override;
  boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                    milliseconds timeout) override;
  boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override;
  void on_settled(settled_listener listener) override { reported_ = std::move(listener); }
  void stop() override { inner_.stop(); }

 private:
  struct plan {
    store_fault fault{};
    std::size_t times = 0;
    std::size_t made = 0;
  };

  [[nodiscard]] std::optional<store_fault> next_fault(store_call which);
  [[nodiscard]] boost::asio::awaitable<void> wait_at_gate();
  template <class Outcome>
  boost::asio::awaitable<std::vector<result<Outcome>>> with_fault_each(
      store_call which, std::size_t size,
      boost::asio::awaitable<std::vector<result<Outcome>>> call);
  template <class Outcome>
  boost::asio::awaitable<result<Outcome>> with_fault(store_call which,
                                                     boost::asio::awaitable<result<Outcome>> call);

  store& inner_;
  std::array<plan, store_calls> plans_{};
  std::size_t busy_ = 0;
  std::size_t repeated_ = 0;
  std::list<std::unique_ptr<boost::asio::steady_timer>> gates_;
  std::optional<onceguard::vitals> pretended_;
  settled_listener reported_;
};

}  // namespace onceguard
