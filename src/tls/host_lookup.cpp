#include "tls/host_lookup.hpp"

#include <arpa/inet.h>
#include <future>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <utility>

namespace onceguard::tls {
namespace {

error not_found(const std::string& why) {
  return {errc::broker_unreachable, "the host's name has no address: " + why};
}

/// No name has a colon.
bool is_numeric(const std::string& host) {
  in_addr ignored{};
  return host.find(':') != host.npos || ::inet_pton(AF_INET, host.c_str(), &ignored) == 1;
}

result<address_list> find_addresses(const std::string& host, std::uint16_t port, int flags) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (failed != 0) return not_found(::gai_strerror(failed));
  return address_list(found);
}

}  // namespace

result<address_list> find_host(const std::string& host, std::uint16_t port, moment until) {
  if (is_numeric(host)) return find_addresses(host, port, AI_NUMERICHOST);
  // The system's resolver knows no time limit: it runs on a thread that nobody waits for.
  std::promise<result<address_list>> found;
  auto future = found.get_future();
  try {
    std::thread([host, port, out = std::move(found)]() mutable {
      out.set_value(find_addresses(host, port, 0));
    }).detach();
  } catch (const std::system_error& none) {
    return not_found(none.what());
  }
  const auto left = until - base::boot_now();
  if (future.wait_for(left) != std::future_status::ready) return not_found("no answer in time");
  return future.get();
}

}  // namespace onceguard::tls
