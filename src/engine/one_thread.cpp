#include "engine/one_thread.hpp"

#include <boost/asio/detail/concurrency_hint.hpp>
#include <boost/asio/detail/scheduler.hpp>

namespace onceguard {

namespace asio = boost::asio;

bool is_of_one_thread(const asio::any_io_executor& executor) {
  const auto* loop = executor.target<asio::io_context::executor_type>();
  if (loop == nullptr) return false;
  // Asio has no public way to read the hint back.
  const auto& scheduler = asio::use_service<asio::detail::scheduler>(loop->context());
  return scheduler.concurrency_hint() == BOOST_ASIO_CONCURRENCY_HINT_1;
}

}  // namespace onceguard
