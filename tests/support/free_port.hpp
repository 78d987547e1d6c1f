// A port of this machine for a server of the tests.
#pragma once
#include <arpa/inet.h>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

namespace onceguard::testing {

/// Nobody listens on it, and no other test process gets it while this one lives: a lock file says
/// so, of the folder that support/ports.py uses as well. No connection to the port is in TIME_WAIT.
/// Below the range that the kernel takes for outgoing connections, so that none of those gets the
/// port of a server that starts.
inline int free_port() {
  constexpr int lowest = 15'000;
  constexpr int highest = 31'999;
  const std::filesystem::path folder = "/tmp/onceguard-test-ports";
  std::filesystem::create_directories(folder);
  std::random_device seed;
  std::uniform_int_distribution<int> any(lowest, highest);
  for (int tries = 0; tries < 1'000; ++tries) {
    const int port = any(seed);
    const auto file = folder / std::to_string(port);
    const int lock = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool ours = lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0 &&
                      ::bind(probe, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    ::close(probe);
    if (ours) return port;  // the lock goes with the process
    if (lock >= 0) ::close(lock);
  }
  throw std::runtime_error("no free port");
}

}  // namespace onceguard::testing
