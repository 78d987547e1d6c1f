#include "messaging/socket/host_lookup.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <sys/socket.h>
#include <utility>

namespace onceguard::messaging {
namespace {

addrinfo wanted(int flags) {
  addrinfo out{};
  out.ai_family = AF_UNSPEC;
  out.ai_socktype = SOCK_STREAM;
  out.ai_flags = flags;
  return out;
}

error not_found(const std::string& why) {
  return {errc::broker_unreachable, "the host's name has no address: " + why};
}

/// What the C library reads and writes during a lookup.
struct lookup {
  std::string host;
  std::string port;
  addrinfo hints = wanted(0);
  gaicb request{};

  lookup(std::string name, std::uint16_t number)
      : host(std::move(name)), port(std::to_string(number)) {
    request.ar_name = host.c_str();
    request.ar_service = port.c_str();
    request.ar_request = &hints;
  }
};
using lookup_ptr = std::unique_ptr<lookup>;

/// A lookup can't be called off while it runs: it keeps its memory until the program ends.
void abandon(lookup_ptr running) {
  static std::mutex mutex;
  static std::list<lookup_ptr> all;
  const std::lock_guard lock(mutex);
  all.push_back(std::move(running));
}

/// False: the time is over.
bool wait_for(const lookup& running, moment until) {
  const gaicb* const requests[] = {&running.request};
  while (::gai_error(const_cast<gaicb*>(requests[0])) == EAI_INPROGRESS) {
    const auto left = until - base::boot_now();
    if (left.count() <= 0) return false;
    const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    ::gai_suspend(requests, 1, &time);
  }
  return true;
}

}  // namespace

result<address_list> find_host(const std::string& host, std::uint16_t port, moment until) {
  addrinfo* found = nullptr;
  const auto numeric = wanted(AI_NUMERICHOST);
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &numeric, &found) == 0) {
    return address_list(found);
  }
  // getaddrinfo() itself has no timeout; this form of it runs in a thread of the C library's.
  auto running = std::make_unique<lookup>(host, port);
  gaicb* requests[] = {&running->request};
  if (const int failed = ::getaddrinfo_a(GAI_NOWAIT, requests, 1, nullptr); failed != 0) {
    return not_found(::gai_strerror(failed));
  }
  if (!wait_for(*running, until)) {
    if (::gai_cancel(requests[0]) != EAI_CANCELED) abandon(std::move(running));
    return not_found("no answer in time");
  }
  if (const int failed = ::gai_error(requests[0]); failed != 0) {
    return not_found(::gai_strerror(failed));
  }
  return address_list(running->request.ar_result);
}

}  // namespace onceguard::messaging
