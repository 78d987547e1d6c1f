// Programs of Node.js that tests start, and plain questions by HTTP.
#pragma once
#include <arpa/inet.h>
#include <filesystem>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "support/source_tree.hpp"

namespace onceguard::testing {

/// The answer to one HTTP request, without any library; empty: there was none.
inline std::string http_answer(int port, const std::string& request) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  std::string out;
  if (::connect(client, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0 &&
      ::send(client, request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size())) {
    char part[4'096];
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(client, part, sizeof part, 0);
      if (got > 0) out.append(part, static_cast<std::size_t>(got));
    }
  }
  ::close(client);
  return out;
}

/// The folder `tests`.
inline std::filesystem::path tests_folder() { return source_root() / "tests"; }

/// Node.js 22, which some packages need: Debian's is older.
inline std::filesystem::path node_program() {
  for (const auto* const machine : {"x64", "arm64"}) {
    auto node =
        tests_folder() / "node_modules" / ("node-linux-" + std::string(machine)) / "bin/node";
    if (std::filesystem::exists(node)) return node;
  }
  throw std::runtime_error("no Node.js 22 in tests/node_modules: ./dev deps");
}

}  // namespace onceguard::testing
