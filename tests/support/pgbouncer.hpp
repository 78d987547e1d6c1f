// A PgBouncer of the tests' own in front of a PostgreSQL server: pools by transaction, on a free
// port, in a temporary folder, gone with the tests.
#pragma once
#include <fstream>
#include <libpq-fe.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>

#include "support/free_port.hpp"
#include "support/postgres_server.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class pgbouncer {
 public:
  /// Starts it, and waits until it answers.
  explicit pgbouncer(int server_port) {
    ::chmod(folder_.path().c_str(), 0777);  // the pooler's user reads its files there
    std::ofstream(folder_.file("users")) << "\"postgres\" \"\"\n";
    std::ofstream(folder_.file("settings"))
        << "[databases]\n* = host=127.0.0.1 port=" << server_port
        << "\n[pgbouncer]\npool_mode = transaction\ndefault_pool_size = 2\n"
        << "listen_addr = 127.0.0.1\nlisten_port = " << port_ << "\nunix_socket_dir =\n"
        << "auth_type = trust\nauth_file = " << folder_.file("users") << "\n"
        << "admin_users = postgres\n";
    process_ = begin_program(server_user::find(), {"/usr/sbin/pgbouncer", folder_.file("settings")},
                             folder_.file("log"));
    const auto console = url("pgbouncer");
    while (PQping(console.c_str()) != PQPING_OK) {
      if (::waitpid(process_, nullptr, WNOHANG) != 0) {
        throw std::runtime_error("pgbouncer does not start");
      }
      ::poll(nullptr, 0, 5);
    }
  }
  pgbouncer(const pgbouncer&) = delete;
  pgbouncer& operator=(const pgbouncer&) = delete;
  ~pgbouncer() {
    ::kill(process_, SIGKILL);
    wait_for_end(process_);
  }

  /// In front of the server that all tests of this program share.
  static pgbouncer& shared() {
    static pgbouncer all(postgres_server::shared().port());
    return all;
  }

  [[nodiscard]] std::string url(const std::string& database) const {
    return postgres_server::url_at(port_, database);
  }

 private:
  temporary_folder folder_;
  const int port_ = free_port();
  pid_t process_ = 0;
};

}  // namespace onceguard::testing
