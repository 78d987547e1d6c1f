// A server that begins again on its port at once.
#pragma once
#include <httplib.h>

/// cpp-httplib asks for SO_REUSEPORT alone. Then a port with connections in TIME_WAIT, as a server
/// that ended leaves them for a minute, counts as taken.
inline void reuse_address(httplib::Server& server) {
  server.set_socket_options([](socket_t listener) {
    const int number = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &number, sizeof number);
  });
}
