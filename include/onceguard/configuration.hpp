// Settings of a build that change the layout of classes which the program and the library share. A
// program that was compiled with others than the library does not link, instead of crashing: the
// symbol that the linker misses names the setting.
#pragma once

#ifdef _GLIBCXX_DEBUG
#define ONCEGUARD_GLIBCXX_DEBUG compiled_with_GLIBCXX_DEBUG
#else
#define ONCEGUARD_GLIBCXX_DEBUG compiled_without_GLIBCXX_DEBUG
#endif
#ifdef BOOST_ASIO_ENABLE_HANDLER_TRACKING
#define ONCEGUARD_ASIO_TRACKING compiled_with_BOOST_ASIO_ENABLE_HANDLER_TRACKING
#else
#define ONCEGUARD_ASIO_TRACKING compiled_without_BOOST_ASIO_ENABLE_HANDLER_TRACKING
#endif
#ifdef BOOST_ASIO_DISABLE_THREADS
#define ONCEGUARD_ASIO_THREADS compiled_with_BOOST_ASIO_DISABLE_THREADS
#else
#define ONCEGUARD_ASIO_THREADS compiled_without_BOOST_ASIO_DISABLE_THREADS
#endif
#ifdef BOOST_ASIO_DISABLE_EPOLL
#define ONCEGUARD_ASIO_EPOLL compiled_with_BOOST_ASIO_DISABLE_EPOLL
#else
#define ONCEGUARD_ASIO_EPOLL compiled_without_BOOST_ASIO_DISABLE_EPOLL
#endif
#ifdef BOOST_ASIO_HAS_IO_URING
#define ONCEGUARD_ASIO_IO_URING compiled_with_BOOST_ASIO_HAS_IO_URING
#else
#define ONCEGUARD_ASIO_IO_URING compiled_without_BOOST_ASIO_HAS_IO_URING
#endif
#ifdef BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT
#define ONCEGUARD_ASIO_EXECUTOR compiled_with_BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT
#else
#define ONCEGUARD_ASIO_EXECUTOR compiled_without_BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT
#endif

namespace onceguard {
inline namespace v1 {
namespace configuration {

extern const char ONCEGUARD_GLIBCXX_DEBUG;
extern const char ONCEGUARD_ASIO_TRACKING;
extern const char ONCEGUARD_ASIO_THREADS;
extern const char ONCEGUARD_ASIO_EPOLL;
extern const char ONCEGUARD_ASIO_IO_URING;
extern const char ONCEGUARD_ASIO_EXECUTOR;

/// Asks the linker for them.
[[gnu::used]] static const char* const settings[] = {
    &ONCEGUARD_GLIBCXX_DEBUG, &ONCEGUARD_ASIO_TRACKING, &ONCEGUARD_ASIO_THREADS,
    &ONCEGUARD_ASIO_EPOLL,    &ONCEGUARD_ASIO_IO_URING, &ONCEGUARD_ASIO_EXECUTOR};

}  // namespace configuration
}  // namespace v1
}  // namespace onceguard
