// Work on a store for a command: open it, run a coroutine on it, say what went wrong.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "config/settings.hpp"

namespace onceguard::cli {

/// What a command does with its store; answers with the exit code.
using store_work = std::function<boost::asio::awaitable<int>(store&)>;

/// A SQLite file that is not there: a mistyped path would look like an empty store.
enum class missing_file : std::uint8_t { refused, made };

/// Opens the store of the settings and runs `work` on an io_context of its own.
[[nodiscard]] int with_store(const config::settings& settings, const store_work& work,
                             missing_file if_missing = missing_file::refused);

/// Why a command could not use a store that only another process can; empty where it can.
[[nodiscard]] std::string unusable_store(const std::string& url);

/// Says it on standard error; the exit code that fits.
[[nodiscard]] int complain(const error& failure);

}  // namespace onceguard::cli
