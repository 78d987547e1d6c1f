#include "engine/background.hpp"

#include <exception>

#include <boost/asio/co_spawn.hpp>

#include "base/log.hpp"

namespace onceguard {

void spawn_background(const boost::asio::any_io_executor& executor, std::string_view description,
                      boost::asio::awaitable<void> coroutine) {
  boost::asio::co_spawn(executor, std::move(coroutine), [description](std::exception_ptr failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      base::log(base::event::background_work_failed, {{"task", description}, {"why", e.what()}});
    }
  });
}

}  // namespace onceguard
