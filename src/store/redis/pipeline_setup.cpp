// The setup of a connection: which server it is, and what its metadata say.
#include "base/hash.hpp"
#include "store/redis/pipeline.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

bool not_permitted(const reply& reply) {
  return reply.is_error() && failure_of(reply.text()).code == "NOPERM";
}

/// Whether the greeting came from a script of this version. A different script of the same name is
/// replaced.
bool is_current(const reply& reply) {
  if (reply.is_error()) return failure_of(reply.text()).code != "NOSCRIPT";
  const auto digest = reply.at(4).text();
  return digest.empty() || digest == library_digest();
}

}  // namespace

awaitable<void> pipeline::set_up() {
  const auto& store_address = in_.connections.at;
  co_await connection_->connect();
  if (why_) throw broken{*why_};
  co_await connection_->log_in(store_address.login);
  if (!in_.names.cut()) text_in(co_await ask(words("SELECT", decimal(store_address.database))));
  // For the server's list of clients. Not all users may set the name.
  co_await ask(words("CLIENT", "SETNAME", "onceguard"));
  const auto facts = co_await ask_facts();
  if (const auto wrong = reason_for_distrust(facts, store_address.servers, in_.params.copies_only))
    throw broken{*wrong};
  run_ = facts.run;
  if (store_address.servers == deployment::sentinel) node_ = in_.to.text();
  if (store_address.servers == deployment::cluster)
    node_ = text_in(co_await ask(words("CLUSTER", "MYID")));
  calls_ = {};
  calls_.functions = facts.functions && store_address.functions;
  in_.events.on_facts(*this, facts);
  co_await make_current();
}

/// Loads the scripts if needed, and greets: on a single server its one part, in a cluster none yet.
awaitable<void> pipeline::make_current() {
  if (!calls_.functions) co_await load_scripts();
  const std::optional<std::size_t> part =
      in_.names.cut() ? std::nullopt : std::optional<std::size_t>(0);
  for (bool again = calls_.functions;; again = false) {
    std::string command;
    append_greeting(command, part);
    const auto got = co_await ask(std::move(command));
    const reply reply(*got);
    if (!is_current(reply) && again) {
      co_await load_scripts();
      continue;
    }
    if (reply.is_error()) throw broken{failure_of(reply.text())};
    if (part) {
      take_greeting(read_greeting(reply, *part));
      co_await reserve_tokens();
    }
    co_return;
  }
}

awaitable<reply_ptr> pipeline::ask(std::string command) {
  if (why_) throw broken{*why_};
  co_return co_await connection_->ask(std::move(command));
}

awaitable<server_facts> pipeline::ask_facts() {
  server_facts out;
  const auto info = co_await ask(words("INFO"));
  if (!not_permitted(reply(*info))) out = read_info(text_in(info));
  if (auto value = co_await ask_setting("appendonly")) out.append_only = std::move(*value);
  if (auto value = co_await ask_setting("appendfsync")) out.flushes = std::move(*value);
  out.snapshots = co_await ask_setting("save");
  co_return out;
}

awaitable<std::optional<std::string>> pipeline::ask_setting(const char* name) {
  const auto got = co_await ask(words("CONFIG", "GET", name));
  const reply reply(*got);
  if (!reply.is_array() || reply.size() < 2) co_return std::nullopt;
  co_return std::string(reply.at(1).text());
}

/// Loads the library of functions, or each script by itself.
awaitable<void> pipeline::load_scripts() {
  if (calls_.functions) {
    text_in(co_await ask(words("FUNCTION", "LOAD", "REPLACE", library_text())));
    co_return;
  }
  for (std::size_t i = 0; i < script_count; ++i) {
    const auto text = script_text(static_cast<script>(i));
    calls_.digests[i] = text_in(co_await ask(words("SCRIPT", "LOAD", text)));
  }
}

awaitable<void> pipeline::reserve_tokens() {
  const auto now = base::boot_now();
  std::string command;
  append_reserve(command);
  const auto got = co_await ask(std::move(command));
  take_tokens(reply(*got), now);
}

void pipeline::append_greeting(std::string& text, std::optional<std::size_t> part) const {
  std::array<unsigned char, 16> random{};
  base::random_bytes(random);
  static const known_metadata nothing;
  const auto& known = part ? in_.events.known(*part) : nothing;
  const bool others_lose = !node_.empty() && in_.connections.at.min_replicas == 0;
  append_call(
      text, calls_, script::greet,
      part ? std::string_view(in_.names.metadata(*part)) : std::string_view(), in_.names.counters(),
      {base::to_hex(random), run_, known.identity, known.run, decimal(known.generation), node_,
       others_lose ? "1" : "0", in_.events.masters(), in_.params.copies_only ? "0" : "1"});
}

greeting pipeline::read_greeting(const reply& reply, std::size_t part) const {
  greeting out;
  out.part = part;
  out.run = run_;
  out.identity = reply.at(0).text();
  out.generation = reply.at(1).number<std::uint64_t>(~std::uint64_t{0});
  out.now = reply.at(2).integer();
  out.lost = reply.at(3).integer() != 0;
  return out;
}

void pipeline::take_greeting(const greeting& greeting) {
  if (!in_.names.cut() || counting_in_ == greeting.part) generation_ = greeting.generation;
  in_.events.on_greeting(greeting);
}

}  // namespace onceguard::redis
