// Runs a command's work on a store: opens the store, runs a coroutine, reports errors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "config/settings.hpp"
#include "store/registry.hpp"

namespace onceguard::cli {

/// The configured store's kind, for commands that copy a store as a whole. Null, with a message on
/// standard error, if the tools of its database do that.
[[nodiscard]] const store_kind* kind_with_backups(const config::settings& settings);

/// A command's work on its store. Returns the exit code.
using store_work = std::function<boost::asio::awaitable<int>(store&)>;

/// Whether a missing SQLite file is created. A mistyped path would look like an empty store.
enum class missing_file : std::uint8_t { refused, made };

/// Opens the configured store and runs `work` on a separate io_context.
[[nodiscard]] int with_store(const config::settings& settings, const store_work& work,
                             missing_file if_missing = missing_file::refused);

/// Runs `work` on a separate io_context, and `end` before an exception goes on. Returns the exit
/// code.
[[nodiscard]] int run_work(const std::function<boost::asio::awaitable<int>()>& work,
                           const std::function<void()>& end = {});

/// Why a command can't use the store at `url`: a memory store of another process, or a missing
/// SQLite file. Empty if the command can use the store.
[[nodiscard]] std::string unusable_store(const std::string& url);

/// Reports the failure on standard error and returns the exit code.
[[nodiscard]] int complain(const error& failure);

/// Calls `work` `count` times and returns after all coroutines have ended. Rethrows the first
/// exception.
[[nodiscard]] boost::asio::awaitable<void> side_by_side(
    std::size_t count, std::function<boost::asio::awaitable<void>()> work);

}  // namespace onceguard::cli
