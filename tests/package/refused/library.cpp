// What calls of the library refuse, each with a sentence: does not compile.
#include <memory>
#include <string>
#include <string_view>

#include <onceguard/command.hpp>
#include <onceguard/guard.hpp>
#include <onceguard/inbox_guard.hpp>
#include <onceguard/inbox_postgres.hpp>
#include <onceguard/inbox_sqlite.hpp>
#include <onceguard/postgres.hpp>
#include <onceguard/sqlite.hpp>

namespace asio = boost::asio;

constexpr std::string_view text("paid");

void guards(onceguard::guard& guard) {
  const onceguard::request request("tenant-1", "key-1");
  const auto policy = guard.policy();
  // says: this work returns nothing: return a result that a repeat gets
  static_cast<void>(guard.execute(request, [] {}));
  // says: this work returns text whose bytes nobody keeps: return std::string(text)
  static_cast<void>(guard.execute(request, policy, [] { return text; }));
  // says: this work takes other parameters: it takes none, or an onceguard::running&
  static_cast<void>(guard.execute(request, [](int) { return std::string(); }));
  // says: what this work returns can't be stored
  static_cast<void>(guard.execute(request, [] { return 1.5; }));
  // says: this work returns no awaitable
  static_cast<void>(guard.async_execute(request, [] { return std::string(); }));
  // says: this work returns nothing: return a result that a repeat gets
  static_cast<void>(
      guard.async_execute(request, policy, []() -> asio::awaitable<void> { co_return; }));
  // says: this work returns text whose bytes nobody keeps
  static_cast<void>(
      guard.async_execute(request, []() -> asio::awaitable<std::string_view> { co_return text; }));
  // says: this work returns nothing
  guard.start<void>(
      request, policy, [] {}, [] {});
}

void transactions(sqlite3* file, pg_conn* connection) {
  const onceguard::request request("tenant-1", "key-1");
  // says: this work returns nothing: let it return what the call takes, such as onceguard::answer
  static_cast<void>(onceguard::sqlite::execute(file, request, [](const auto&) {}));
  // says: this work returns a std::string_view: return onceguard::answer{200, {},
  // std::string(text)}
  static_cast<void>(onceguard::sqlite::execute(file, request, [](const auto&) { return text; }));
  // says: this work returns another type than the call takes
  static_cast<void>(onceguard::postgres::execute(connection, request,
                                                 [](const auto&) { return std::string("paid"); }));
  // says: this work can't be called with the parameters that the call gives it
  static_cast<void>(onceguard::postgres::execute(connection, request, [] {
    return onceguard::answer{200, {}, {}};
  }));
  // says: this work returns nothing
  static_cast<void>(onceguard::postgres::execute_steps(connection, request, {}, [](auto&) {}));
  static_cast<void>(onceguard::sqlite::execute_steps(file, request, [](onceguard::steps& flow) {
    // says: this work returns nothing: let it return what the call takes
    flow.step("charge", [] {});
    return onceguard::answer{200, {}, {}};
  }));
  auto owned = [only = std::make_unique<int>(1)](const onceguard::lease&) {
    return onceguard::answer{200, {}, std::to_string(*only)};
  };
  // says: this work can't be copied: pass it with std::move
  static_cast<void>(onceguard::sqlite::execute(file, request, owned));
}

void inboxes(onceguard::guarded_inbox& guarded, onceguard::sqlite::inbox& sqlite,
             onceguard::postgres::inbox& postgres, const onceguard::inbox_message& message) {
  // says: this work can't be called with the parameters that the call gives it
  static_cast<void>(guarded.process(message, [] {}));
  // says: this work can't be called with the parameters that the call gives it
  static_cast<void>(sqlite.process(message, [](const onceguard::inbox_message&) {}));
  // says: this work can't be called with the parameters that the call gives it
  static_cast<void>(postgres.process(message, [](int, int) {}));
  onceguard::command_rules rules;
  // says: this work can't be called with the parameters that the call gives it
  rules.on_output = [](std::string_view) {};
}
