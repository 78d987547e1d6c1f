#include "cli/store_work.hpp"

#include <exception>
#include <filesystem>
#include <iostream>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "cli/exit_code.hpp"
#include "config/stores.hpp"

namespace onceguard::cli {

std::string unusable_store(const std::string& url) {
  constexpr std::string_view sqlite = "sqlite:";
  if (url == "memory:") return "a memory: store can't be seen from another process";
  if (!url.starts_with(sqlite)) return {};
  const auto path = url.substr(sqlite.size());
  std::error_code failed;
  return std::filesystem::exists(path, failed) ? std::string() : path + ": there is no such file";
}

int complain(const error& failure) {
  std::cerr << "onceguard: " << failure.detail << "\n";
  switch (failure.code) {
    case errc::not_found:
      return exit_not_found;
    case errc::store_unreachable:
    case errc::store_full:
    case errc::store_lost:
      return exit_store;
    default:
      return exit_failed;
  }
}

int with_store(const config::settings& settings, const store_work& work, missing_file if_missing) {
  const bool make = if_missing == missing_file::made && settings.store.url.starts_with("sqlite:");
  if (const auto why = unusable_store(settings.store.url); !make && !why.empty()) {
    std::cerr << "onceguard: " << why << "\n";
    return exit_store;
  }
  auto opened = config::known_stores().open(settings.store);
  if (!opened) {
    std::cerr << "onceguard: " << opened.error().detail << "\n";
    return exit_store;
  }
  auto& records = **opened;
  int exit_code = exit_failed;
  std::exception_ptr fault;
  boost::asio::io_context io(1);
  boost::asio::co_spawn(io, work(records), [&](std::exception_ptr thrown, int code) {
    fault = thrown;
    exit_code = code;
  });
  io.run();
  records.stop();
  if (fault) std::rethrow_exception(fault);
  return exit_code;
}

}  // namespace onceguard::cli
