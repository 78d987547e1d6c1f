// The addresses that the host names of upstreams stand for.
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

/// Looks each name up once at a time, for all who ask, and keeps what it found for ten seconds.
/// A look-up can't be called off, and one may hang for as long as it likes. So each has a thread of
/// its own: it holds up no other name, and the end of the process does not wait for it. (A resolver
/// of Asio has one thread for all, and joins it when its io_context goes.)
/// Thread-safety: find() may be called from any thread that runs an io_context.
class host_names {
 public:
  host_names() = default;
  host_names(const host_names&) = delete;
  host_names& operator=(const host_names&) = delete;
  ~host_names() { close(); }

  /// At least one address, waiting at most for `timeout`. Who asks later may get what one who gave
  /// up has begun. An address in the place of a name stands for itself.
  boost::asio::awaitable<result<addresses>> find(std::string host, milliseconds timeout);
  /// Wakes nobody any more: to be called when the io_contexts of those who waited do not run any
  /// longer, and before they go.
  void close();

 private:
  struct resolve;
  [[nodiscard]] std::shared_ptr<resolve> latest(const std::string& host);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<resolve>> names_;
};

}  // namespace onceguard::gateway
