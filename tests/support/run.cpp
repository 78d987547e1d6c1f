#include "support/run.hpp"

#include <exception>
#include <stdexcept>

#include <boost/asio/co_spawn.hpp>

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

}  // namespace onceguard::testing
