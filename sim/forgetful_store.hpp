// The memory store, which can lose what it wrote last, as a store does that had not flushed it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "store/forwarding_store.hpp"
#include "store/memory/memory_store.hpp"

namespace onceguard::sim {

class forgetful_store final : public forwarding_store {
 public:
  /// `by_wall_clock`: it has no other clock, as a Redis server has none, and steps with it.
  explicit forgetful_store(bool by_wall_clock = false);

  boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                              milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                    milliseconds timeout) override;
  /// Of the last `length` nothing is left, but that tokens never come again.
  boost::asio::awaitable<void> forget(milliseconds length);

 protected:
  [[nodiscard]] result<store*> target() const override { return real_.get(); }

 private:
  /// The machine's clocks, or those of an earlier moment while that is played again.
  class moment_clock final : public base::clock {
   public:
    explicit moment_clock(bool wall_only) : by_wall(wall_only) {}
    [[nodiscard]] std::int64_t boot_ms() const noexcept override;
    [[nodiscard]] std::int64_t wall_ms() const noexcept override;
    [[nodiscard]] const std::string& boot_id() const noexcept override;
    const bool by_wall;
    bool stands = false;
    std::int64_t boot = 0;
    std::int64_t wall = 0;
  };
  using act = std::function<boost::asio::awaitable<void>(store&)>;
  struct written {
    std::int64_t moment;  ///< of the machine's boot clock
    std::int64_t boot;
    std::int64_t wall;
    act again;
  };
  /// While an act runs, the clock stands: when it is played again, it reads the same.
  class [[nodiscard]] one_moment {
   public:
    one_moment(moment_clock& clock, const written& noted) : clock_(clock) {
      clock.boot = noted.boot;
      clock.wall = noted.wall;
      clock.stands = true;
    }
    ~one_moment() { clock_.stands = false; }
    one_moment(const one_moment&) = delete;
    one_moment& operator=(const one_moment&) = delete;

   private:
    moment_clock& clock_;
  };
  one_moment note(act again);

  moment_clock clock_;
  std::int64_t begun_boot_;
  std::int64_t begun_wall_;
  token highest_ = 0;
  std::vector<written> log_;
  std::unique_ptr<memory_store> real_;
};

}  // namespace onceguard::sim
