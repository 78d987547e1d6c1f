#include "gateway/host_lookup.hpp"

#include <chrono>
#include <system_error>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/clock.hpp"
#include "base/latch.hpp"
#include "tls/async_socket.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds name_valid_for{10};

result<addresses> resolve_now(const std::string& host) {
  asio::io_context context;
  asio::ip::tcp::resolver resolver(context);
  boost::system::error_code ec;
  const auto found = resolver.resolve(host, "", ec);
  if (ec) {
    return error(errc::store_unreachable, "\"" + host + "\" is not to be found: " + ec.message());
  }
  addresses out;
  for (const auto& one : found) out.push_back(one.endpoint().address());
  return out;
}

}  // namespace

/// One look-up. `found` may be read once `over` has happened.
struct host_lookup::resolve {
  base::latch over;
  result<addresses> found = addresses();
  base::boot_clock::time_point until;

  void end(result<addresses> reply) {
    found = std::move(reply);
    if (found) until = base::boot_now() + name_valid_for;
    over.happen();
  }
  [[nodiscard]] bool outdated() const { return over.happened() && base::boot_now() >= until; }
};

std::shared_ptr<host_lookup::resolve> host_lookup::latest(const std::string& host) {
  const std::lock_guard lock(mutex_);
  std::erase_if(names_, [](const auto& name) { return name.second->outdated(); });
  auto& current = names_[host];
  if (current) return current;
  current = std::make_shared<resolve>();
  try {
    // The thread uses only its own look-up object, so it may outlive everything else.
    std::thread([begun = current, host] { begun->end(resolve_now(host)); }).detach();
  } catch (const std::system_error& failure) {
    current->end(
        error(errc::overloaded, std::string("no thread for a look-up: ") + failure.what()));
  }
  return current;
}

asio::awaitable<result<addresses>> host_lookup::find(std::string host, milliseconds timeout) {
  boost::system::error_code no_address;
  const auto numeric = asio::ip::make_address(host, no_address);
  if (!no_address) co_return addresses(1, numeric);
  const auto shared = latest(host);
  if (co_await shared->over.wait(timeout)) co_return shared->found;
  co_return error(errc::store_unreachable,
                  "the look-up of \"" + host + "\" takes longer than connect_timeout");
}

void host_lookup::close() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, running] : names_) running->over.forget();
}

}  // namespace onceguard::gateway
