// Who is receiving a long answer now, and who of them has to go when memory is needed.
#pragma once
#include <list>
#include <memory>
#include <mutex>

#include <boost/asio/io_context.hpp>

#include "base/clock.hpp"
#include "tls/async_socket.hpp"

namespace onceguard::gateway {

/// The clients to which an answer is being sent that counts in `max_buffered`. What became of the
/// operation is recorded by then, so whoever is cut off may send the same request again.
/// Thread-safe.
class receiving_clients {
  struct entry;
  using entries = std::list<std::shared_ptr<entry>>;
  struct entry {
    boost::asio::io_context& io;
    tls::async_socket* socket;  // used on the thread of io; null: it has the answer
    base::boot_clock::time_point since;
    entries::iterator position{};  // if it is listed
    bool listed = true;
  };

 public:
  /// Lists a client while it exists. Belongs to the thread of `io`.
  class reading {
   public:
    reading(receiving_clients& all, boost::asio::io_context& io, tls::async_socket& socket);
    ~reading();
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;

   private:
    receiving_clients& all_;
    std::shared_ptr<entry> listed_;
  };

  /// Memory is needed: ends the connection that has been receiving for the longest time, if that is
  /// more than a second. Returns false if there is none.
  bool cut_slowest();

 private:
  std::mutex mutex_;
  entries all_;  // in the order in which they began
};

}  // namespace onceguard::gateway
