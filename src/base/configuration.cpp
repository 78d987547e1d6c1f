#include <onceguard/configuration.hpp>

namespace onceguard {
inline namespace v1 {
namespace configuration {

// The settings with which the library was compiled.
const char ONCEGUARD_GLIBCXX_DEBUG = 1;
const char ONCEGUARD_ASIO_TRACKING = 1;
const char ONCEGUARD_ASIO_THREADS = 1;
const char ONCEGUARD_ASIO_EPOLL = 1;
const char ONCEGUARD_ASIO_IO_URING = 1;
const char ONCEGUARD_ASIO_EXECUTOR = 1;

}  // namespace configuration
}  // namespace v1
}  // namespace onceguard
