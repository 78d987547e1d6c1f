#include "http1/server/socket_file.hpp"

#include <sys/socket.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace onceguard::http1 {

namespace asio = boost::asio;
using kind = socket_file::kind;
using local_stream = asio::local::stream_protocol;

socket_file examine_socket_file(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) return {kind::none};
  if (!S_ISSOCK(about.st_mode)) return {kind::other};
  asio::io_context context(1);
  local_stream::socket probe(context);
  boost::system::error_code failed;
  if (probe.open(local_stream(), failed); failed) return {kind::live};
  probe.non_blocking(true, failed);  // a listener whose queue is full would hold the connect
  probe.connect(local_stream::endpoint(path), failed);
  if (failed == asio::error::connection_refused) return {kind::stale};
  if (failed) return {kind::live};
  ucred listener{};
  socklen_t size = sizeof listener;
  const int known = ::getsockopt(probe.native_handle(), SOL_SOCKET, SO_PEERCRED, &listener, &size);
  return {kind::live, known == 0 ? listener.pid : 0};
}

}  // namespace onceguard::http1
