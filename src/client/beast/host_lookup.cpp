#include "client/beast/host_lookup.hpp"

#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard::client {
inline namespace v1 {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using addresses = tcp::resolver::results_type;

/// Blocks.
addresses resolve(const std::string& host, const std::string& port, error_code& failed) {
  asio::io_context loop(1);
  return tcp::resolver(loop).resolve(host, port, failed);
}

/// What the thread and the coroutine share: either may end first.
struct shared_lookup {
  std::mutex mutex;
  asio::steady_timer* waiting = nullptr;  ///< ends the wait; null: nobody waits any more
  bool done = false;
  addresses found;
  error_code failed;
};
using shared_lookup_ptr = std::shared_ptr<shared_lookup>;

void finish(const shared_lookup_ptr& shared, addresses found, error_code failed) {
  const std::lock_guard lock(shared->mutex);
  shared->done = true;
  shared->found = std::move(found);
  shared->failed = failed;
  // The timer, and with it the executor, is there as long as somebody waits.
  if (shared->waiting == nullptr) return;
  // Not from this thread: the timer is the executor's, and its wait may not have begun.
  asio::post(shared->waiting->get_executor(), [shared] {
    const std::lock_guard again(shared->mutex);
    if (shared->waiting != nullptr) shared->waiting->cancel();
  });
}

/// An error: the system has no room for the thread.
error_code begin(const shared_lookup_ptr& shared, const std::string& host,
                 const std::string& port) {
  try {
    std::thread([shared, host, port] {
      error_code failed;
      auto found = resolve(host, port, failed);
      finish(shared, std::move(found), failed);
    }).detach();
  } catch (const std::system_error& none) {
    return none.code();
  }
  return {};
}

/// Nobody waits from its end on.
class wait_scope {
 public:
  wait_scope(shared_lookup& shared, asio::steady_timer& timer) : shared_(shared) {
    const std::lock_guard lock(shared_.mutex);
    shared_.waiting = &timer;
  }
  ~wait_scope() {
    const std::lock_guard lock(shared_.mutex);
    shared_.waiting = nullptr;
  }
  wait_scope(const wait_scope&) = delete;
  wait_scope& operator=(const wait_scope&) = delete;

 private:
  shared_lookup& shared_;
};

}  // namespace

asio::awaitable<addresses> find_addresses(const std::string& host, const std::string& port,
                                          std::chrono::steady_clock::time_point deadline,
                                          error_code& failed) {
  error_code is_name;
  asio::ip::make_address(host, is_name);
  if (!is_name) co_return resolve(host, port, failed);  // an address needs no thread
  const auto shared = std::make_shared<shared_lookup>();
  asio::steady_timer timer(co_await asio::this_coro::executor, deadline);
  const wait_scope scope(*shared, timer);
  failed = begin(shared, host, port);
  if (failed) co_return addresses();
  error_code canceled;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, canceled));
  const std::lock_guard lock(shared->mutex);
  failed = shared->done ? shared->failed
                        : (canceled ? error_code(asio::error::operation_aborted)
                                    : error_code(asio::error::timed_out));
  co_return std::move(shared->found);
}

}  // namespace v1
}  // namespace onceguard::client
