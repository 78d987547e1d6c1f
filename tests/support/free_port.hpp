// A port of this machine that nobody listens on.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace onceguard::testing {

inline int free_port() {
  const int at = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof where;
  const bool bound = ::bind(at, reinterpret_cast<sockaddr*>(&where), length) == 0 &&
                     ::getsockname(at, reinterpret_cast<sockaddr*>(&where), &length) == 0;
  ::close(at);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(where.sin_port);
}

}  // namespace onceguard::testing
