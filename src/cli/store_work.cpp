#include "cli/store_work.hpp"

#include <exception>
#include <iostream>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "cli/command.hpp"
#include "config/stores.hpp"

namespace onceguard::cli {

const store_kind* kind_with_backups(const config::settings& settings) {
  const auto fits = [](const store_kind& kind) { return kind.back_up != nullptr; };
  const auto* kind = config::known_stores().kind_of(settings.store.url);
  if (kind != nullptr && fits(*kind)) return kind;
  std::cerr << "onceguard: only " << config::known_stores().examples(fits)
            << " is backed up and restored by this command; for the others docs/operations.md says "
               "how\n";
  return nullptr;
}

std::string unusable_store(const std::string& url) {
  const auto* kind = config::known_stores().kind_of(url);
  if (kind == nullptr || kind->unreadable_from_outside == nullptr) return {};
  return kind->unreadable_from_outside(url);
}

int complain(const error& failure) {
  std::cerr << "onceguard: " << failure.detail << "\n";
  switch (failure.code) {
    case errc::not_found:
      return exit_not_found;
    case errc::store_unreachable:
    case errc::store_full:
    case errc::store_lost:
    case errc::broker_unreachable:
      return exit_store;
    default:
      return exit_failed;
  }
}

int run_work(const std::function<boost::asio::awaitable<int>()>& work,
             const std::function<void()>& end) {
  int exit_code = exit_failed;
  std::exception_ptr fault;
  boost::asio::io_context io(1);
  boost::asio::co_spawn(io, work(), [&](std::exception_ptr thrown, int code) {
    fault = thrown;
    exit_code = code;
  });
  io.run();
  if (end) end();
  if (fault) std::rethrow_exception(fault);
  return exit_code;
}

int with_store(const config::settings& settings, const store_work& work, missing_file if_missing) {
  const auto* kind = config::known_stores().kind_of(settings.store.url);
  const bool make = if_missing == missing_file::made && kind != nullptr && kind->made_when_missing;
  if (const auto why = unusable_store(settings.store.url); !make && !why.empty()) {
    std::cerr << "onceguard: " << why << "\n";
    return exit_store;
  }
  auto params = settings.store;
  params.of_application = true;
  params.for_people = true;
  params.takes_no_keys = if_missing != missing_file::made;
  auto opened = config::known_stores().open(params);
  if (!opened) {
    std::cerr << "onceguard: " << opened.error().detail << "\n";
    return exit_store;
  }
  auto& records = **opened;
  return run_work([&] { return work(records); }, [&] { records.stop(); });
}

namespace asio = boost::asio;

asio::awaitable<void> side_by_side(std::size_t count, std::function<asio::awaitable<void>()> work) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer all_ended(executor, asio::steady_timer::time_point::max());
  std::size_t left = count;
  std::exception_ptr fault;
  const auto ended = [&](std::exception_ptr thrown) {
    if (thrown && !fault) fault = thrown;
    if (--left == 0) all_ended.cancel();
  };
  for (std::size_t i = 0; i < count; ++i) asio::co_spawn(executor, work(), ended);
  if (left > 0) {
    boost::system::error_code cancelled;
    co_await all_ended.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace onceguard::cli
