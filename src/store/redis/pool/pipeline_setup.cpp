// The setup of a connection: which server it is, and what its metadata say.
#include <algorithm>

#include "store/redis/pool/pipeline.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

bool not_permitted(const reply& reply) {
  return reply.is_error() && failure_of(reply.text()).code == "NOPERM";
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
  in_.events.on_facts(*this, facts);
  flags_of_scripts_ = facts.flags_of_scripts;
  for (std::size_t i = 0; i < script_count; ++i) {
    const auto text = script_text(static_cast<script>(i), flags_of_scripts_);
    text_in(co_await ask(words("SCRIPT", "LOAD", text)));
  }
  const auto parts = in_.events.parts_of(*this);
  std::string greetings;
  for (const auto part : parts) greetings += greeting_for(part);
  co_await connection_->write(greetings);
  for (const auto part : parts) {
    const auto got = co_await connection_->read_reply();
    take_greeting(part, reply(*got));
    if (why_) throw broken{*why_};
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

// --- greetings ------------------------------------------------------------------------------

void pipeline::greet_parts() {
  if (!ready()) return;
  const auto parts = in_.events.parts_of(*this);
  std::erase_if(greeted_, [&](const auto& each) {
    return !std::binary_search(parts.begin(), parts.end(), each.first);
  });
  if (counted_in_ && !greeted_.contains(*counted_in_)) count_in_next_part();
  for (const auto part : parts) {
    if (!greeted_.try_emplace(part).second) continue;
    outgoing_ += greeting_for(part);
    sent_.push_back({.what = kind::greeting, .part = part});
  }
}

void pipeline::rename(std::size_t part, const std::string& name) {
  const auto found = greeted_.find(part);
  if (found != greeted_.end() && !found->second.empty()) found->second = name;
}

std::string pipeline::greeting_for(std::size_t part) const {
  const bool others_lose = !node_.empty() && in_.connections.at.min_replicas == 0;
  const introduction intro{run_, node_, in_.events.known(part), others_lose, in_.events.masters()};
  std::string out;
  append_greeting(out, in_.names.metadata(part), !in_.params.copies_only, &intro);
  if (!flags_of_scripts_) call_without_flags(out, 0, script::greet);
  return out;
}

/// If the part is on another server, the greeting is sent there. If the server does not serve the
/// part yet (it has just come back, perhaps with older data), the greeting must be repeated before
/// anything else.
void pipeline::take_greeting(std::size_t part, const reply& reply) {
  if (reply.is_error()) {
    auto refused = failure_of(reply.text());
    if (refused.code == "MOVED" || refused.code == "ASK") return in_.events.on_astray(*this);
    return close(std::move(refused));
  }
  const auto greeting = read_greeting(reply);
  greeted_[part] = greeting.name;
  if (!counted_in_ || counted_in_ == part) {
    counted_in_ = part;
    generation_ = greeting.generation;
  }
  in_.events.on_greeting(part, run_, greeting);
}

}  // namespace onceguard::redis
