#include "store/redis/pool/pipeline.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace onceguard::redis {

// --- sending --------------------------------------------------------------------------------

std::size_t pipeline::room() const noexcept {
  const auto taken = sent_.size() + held_.size();
  return taken < context_.params.under_way_max ? context_.params.under_way_max - taken : 0;
}

void pipeline::send(entry entry, bool asking) {
  if (asking) {
    append_command(outgoing_, {"ASKING"});
    sent_.push_back({.command = kind::ignored});
  }
  const auto& request = *entry.request;
  ++in_batch_;
  writes_ = writes_ || request.writes;
  if (request.announces) announced_ += base::as_chars(*request.about).substr(0, 8);
  append(request.command, request.called);
  sent_.push_back({.entry = std::move(entry)});
}

void pipeline::append(std::string_view command, std::optional<script> called) {
  const auto begin = outgoing_.size();
  outgoing_ += command;
  if (called && !flags_of_scripts_) call_without_flags(outgoing_, begin, *called);
}

/// WAIT always follows a write of this connection, so that WAIT also covers the writes of others
/// that this batch only read.
void pipeline::end_batch() {
  if (std::exchange(in_batch_, 0) == 0) return;
  if (!announced_.empty()) {
    append_command(outgoing_, {"PUBLISH", context_.names.settled(), std::exchange(announced_, {})});
    sent_.push_back({.command = kind::ignored});
  }
  if (counted_in_ && (writes_ || replicas() > 0)) {
    const auto& metadata = context_.names.metadata(*counted_in_);
    const auto& name = greeted_.at(*counted_in_);
    // A server without memory refuses HINCRBY, but not a script that is marked `allow-oom`.
    if (full_) {
      std::string call;
      append_call(call, script::count, metadata, {}, {name});
      append(call, script::count);
    } else {
      append_command(outgoing_, {"HINCRBY", metadata, name, "1"});
    }
    sent_.push_back({.command = kind::counting, .part = *counted_in_});
  }
  if (replicas() > 0) {
    const auto patience = std::max<std::int64_t>(context_.params.timeout.count() / 2, 1);
    append_command(outgoing_, {"WAIT", decimal(replicas()), decimal(patience)});
    sent_.push_back({.command = kind::wait});
  }
  sent_.push_back({.command = kind::end});
  writes_ = false;
}

void pipeline::return_all(const failure& why) {
  const auto back = [&](entry& entry, bool not_carried_out) {
    if (!entry.job) return;
    entry.request->doubtful = entry.request->doubtful || !not_carried_out;
    context_.events.on_returned(server_, std::move(entry), why);
  };
  for (auto& each : held_) back(each.entry, false);
  for (auto& each : sent_) back(each.entry, each.not_carried_out);
}

// --- greetings ------------------------------------------------------------------------------

void pipeline::greet(const std::vector<std::size_t>& parts) {
  std::erase_if(greeted_, [&](const auto& each) {
    return !std::binary_search(parts.begin(), parts.end(), each.first);
  });
  if (counted_in_ && !greeted_.contains(*counted_in_)) count_in_next_part();
  for (const auto part : parts) {
    if (!greeted_.try_emplace(part).second) continue;
    const bool others_lose = !node_.empty() && replicas() == 0;
    const introduction intro{run_, node_, context_.known[part], others_lose,
                             context_.known.masters};
    std::string call;
    append_greeting(call, context_.names.metadata(part), !context_.params.copies_only, &intro);
    append(call, script::greet);
    sent_.push_back({.command = kind::greeting, .part = part});
  }
}

void pipeline::rename(std::size_t part, const std::string& name) {
  const auto found = greeted_.find(part);
  if (found != greeted_.end() && !found->second.empty()) found->second = name;
}

void pipeline::count_in_next_part() {
  const auto former = std::exchange(counted_in_, std::nullopt);
  generation_ = 0;
  for (const auto& [part, name] : greeted_) {
    const bool later = former && counted_in_ && *counted_in_ < *former && part > *former;
    if (part != former && !name.empty() && (!counted_in_ || later)) counted_in_ = part;
  }
}

/// If the part is on another server, the greeting is sent there. If the server does not serve the
/// part yet (it has just come back, perhaps with older data), the greeting must be repeated before
/// anything else.
void pipeline::take_greeting(std::size_t part, const reply& reply) {
  if (reply.is_error()) {
    auto refused = failure_of(reply.text());
    if (refused.code == "MOVED" || refused.code == "ASK") return context_.events.on_astray();
    throw broken{std::move(refused)};
  }
  const auto greeting = read_greeting(reply);
  greeted_[part] = greeting.name;
  if (!counted_in_ || counted_in_ == part) {
    counted_in_ = part;
    generation_ = greeting.generation;
  }
  context_.known.take_greeting(part, run_, greeting);
}

// --- replies --------------------------------------------------------------------------------

void pipeline::take(reply_ptr got) {
  if (sent_.empty()) throw unexpected_reply("a reply that nobody asked for");
  auto first = std::move(sent_.front());
  sent_.pop_front();
  const reply reply(*got);
  switch (first.command) {
    case kind::request:
      take_request(std::move(first.entry), std::move(got));
      break;
    case kind::counting:
      take_count(first.part, reply);
      break;
    case kind::wait:
      end_.confirmed = end_.confirmed && reply.is_integer() && reply.integer() >= replicas();
      break;
    case kind::greeting:
      take_greeting(first.part, reply);
      break;
    case kind::ignored:
    case kind::end:
      break;
  }
  while (!sent_.empty() && sent_.front().command == kind::end) {
    sent_.pop_front();
    take_end();
  }
}

/// A request that waits for nothing, and one that was refused, needs no end of its batch.
void pipeline::take_request(entry subject, reply_ptr got) {
  const reply reply(*got);
  const auto& request = *subject.request;
  if (!reply.is_error()) {
    held_request one{std::move(subject), std::move(got)};
    if (!request.writes && replicas() == 0) return conclude(std::move(one), false);
    return held_.push_back(std::move(one));
  }
  auto refused = failure_of(reply.text());
  refused.misconfigured = false;  // it was right when the store was opened
  switch (remedy_of(refused)) {
    case remedy::redirect:
      return context_.events.on_redirected(server_, std::move(subject), refused);
    case remedy::reconnect:
      sent_.push_front({.entry = std::move(subject), .not_carried_out = true});
      throw broken{std::move(refused)};
    case remedy::none:
      break;
  }
  const auto after = request.doubtful ? effect::unknown : effect::none;
  subject.request->fail(to_error(refused, context_.connections.address.name, after));
  context_.events.on_ended(std::move(subject));
}

void pipeline::take_count(std::size_t part, const reply& reply) {
  if (!reply.is_error()) {
    end_.part = part;
    end_.count = reply.number<std::uint64_t>(~std::uint64_t{0});
    return;
  }
  auto refused = failure_of(reply.text());
  const auto next = remedy_of(refused);
  if (next == remedy::reconnect) throw broken{std::move(refused)};
  if (refused.code == "OOM") {
    full_ = true;  // this batch is not counted, the next one is
  } else if (next == remedy::none) {
    end_.uncounted = std::move(refused);
  } else {
    // The metadata of the part are on their way to another server.
    end_.confirmed = replicas() == 0;
    if (counted_in_ == part) count_in_next_part();
    context_.events.on_astray();
  }
}

void pipeline::take_end() {
  const auto end = std::exchange(end_, {});
  auto held = std::exchange(held_, {});
  if (!end.confirmed) {
    const auto why = connection_failure("too few replicas have confirmed it");
    for (auto& each : held) {
      each.entry.request->doubtful = true;
      context_.events.on_returned(server_, std::move(each.entry), why);
    }
    return;
  }
  if (end.uncounted) {
    for (auto& each : held) {
      each.entry.request->fail(
          to_error(*end.uncounted, context_.connections.address.name, effect::unknown));
      context_.events.on_ended(std::move(each.entry));
    }
    return;
  }
  // The data may have gone back during this connection. A new greeting finds out what was lost.
  const bool counts = end.part && end.part == counted_in_;
  const bool forgot = counts && end.count <= generation_;
  if (counts) generation_ = end.count;
  for (auto& each : held) conclude(std::move(each), forgot);
  if (forgot) throw_connection_failure("the server's data is older than it was");
  if (counts) context_.known.take_generation(*end.part, run_, end.count);
}

/// `forgot`: the server's memory is not what it was.
void pipeline::conclude(held_request one, bool forgot) {
  auto& request = *one.entry.request;
  if (request.grants && (forgot || !context_.known.gate().known())) {
    // Nobody holds the lease that was granted, and it is given back.
    const auto& name = context_.connections.address.name;
    request.fail(error(errc::store_lost, name + ": its data is older than it was", effect::done));
  } else {
    request.got = std::move(one.got);
  }
  context_.events.on_ended(std::move(one.entry));
}

}  // namespace onceguard::redis
