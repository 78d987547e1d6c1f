// Resolves the host names of upstreams to addresses.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::gateway {

using addresses = std::vector<boost::asio::ip::address>;

/// Runs one look-up per name at a time for all callers, and caches the result for ten seconds. A
/// look-up can't be cancelled and may hang for any time. So each look-up has a thread of its own:
/// it delays no other name, and the end of the process does not wait for it. (A resolver of Asio
/// has one thread for all look-ups, and joins that thread when its io_context is destroyed.)
/// Thread-safety: find() may be called from any thread that runs an io_context.
class host_lookup {
 public:
  host_lookup() = default;
  host_lookup(const host_lookup&) = delete;
  host_lookup& operator=(const host_lookup&) = delete;
  ~host_lookup() { close(); }

  /// Returns at least one address; waits at most for `timeout`. A later caller may get the result
  /// of a look-up whose first caller gave up. A numeric address needs no look-up.
  boost::asio::awaitable<result<addresses>> find(std::string host, milliseconds timeout);
  /// Stops waking callers. Call this when the io_contexts of the waiting callers no longer run, and
  /// before they are destroyed.
  void close();

 private:
  struct resolve;
  [[nodiscard]] std::shared_ptr<resolve> latest(const std::string& host);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<resolve>> names_;
};

}  // namespace onceguard::gateway
