#include "store/redis/pool/server_questions.hpp"

#include <optional>
#include <string>

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

bool not_permitted(const reply& reply) {
  return reply.is_error() && failure_of(reply.text()).code == "NOPERM";
}

awaitable<std::optional<std::string>> ask_setting(connection& connection, const char* name) {
  const auto got = co_await connection.ask(words("CONFIG", "GET", name));
  const reply reply(*got);
  if (!reply.is_array() || reply.size() < 2) co_return std::nullopt;
  co_return std::string(reply.at(1).text());
}

}  // namespace

awaitable<server_facts> ask_facts(connection& connection) {
  server_facts out;
  const auto info = co_await connection.ask(words("INFO"));
  if (!not_permitted(reply(*info))) out = read_info(text_in(info));
  if (auto value = co_await ask_setting(connection, "appendonly")) {
    out.append_only = std::move(*value);
  }
  if (auto value = co_await ask_setting(connection, "appendfsync")) out.flushes = std::move(*value);
  out.snapshots = co_await ask_setting(connection, "save");
  co_return out;
}

awaitable<std::int64_t> ask_time(connection& connection) {
  const auto got = co_await connection.ask(words("TIME"));
  const reply reply(*got);
  if (reply.is_error()) throw broken{failure_of(reply.text())};
  const auto seconds = number_in<std::int64_t>(reply.at(0).text());
  const auto micros = number_in<std::int64_t>(reply.at(1).text());
  if (!seconds || !micros) throw unexpected_reply("a time was expected");
  co_return *seconds * 1'000 + *micros / 1'000;
}

}  // namespace onceguard::redis
