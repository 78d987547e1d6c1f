#include "support/run.hpp"

#include <exception>
#include <stdexcept>

#include <boost/asio/co_spawn.hpp>

#include "base/timer_wheel.hpp"

namespace onceguard::testing {

void run_to_its_end(boost::asio::io_context& context, boost::asio::awaitable<void> awaitable) {
  bool ended = false;
  std::exception_ptr thrown;
  boost::asio::co_spawn(context, std::move(awaitable), [&](std::exception_ptr failed) {
    ended = true;
    thrown = failed;
  });
  context.restart();
  while (!ended && context.run_one() != 0) {
  }
  if (thrown) std::rethrow_exception(thrown);
  if (!ended) throw std::logic_error("the coroutine waits for something that never comes");
}

boost::asio::io_context& context_of_thread::get() const noexcept {
  thread_local boost::asio::io_context context;
  return context;
}

context_of_thread::~context_of_thread() {
  auto& context = get();
  // As run_here() does: nobody waits for the last tick of the timers.
  base::timer_wheel::of(context).rest();
  context.restart();
  context.run();
}

}  // namespace onceguard::testing
