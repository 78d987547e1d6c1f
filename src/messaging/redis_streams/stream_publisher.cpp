#include "messaging/redis_streams/stream_publisher.hpp"

#include "messaging/redis_streams/wire_message.hpp"

namespace onceguard::messaging::redis_streams {

stream_publisher::stream_publisher(const stream_settings& settings, const broker_params& params)
    : settings_(settings), connection_(settings.where, params.timeout) {
  // A server that wants a password, or is still loading its file, shall say so at once.
  static_cast<void>(connection_.ask({"PING"}));
}

result<void> stream_publisher::publish(std::span<const message> batch) {
  return caught([&] { send(batch); });
}

command stream_publisher::addition_of(const message& sent) const {
  command out{"XADD", settings_.where.stream};
  // "~": Redis drops whole nodes only; an exact length costs work with each addition.
  if (settings_.max_length) out.add("MAXLEN").add("~").add(*settings_.max_length);
  out.add("*");
  append_fields(out, sent);
  return out;
}

void stream_publisher::send(std::span<const message> batch) {
  if (batch.empty()) return;
  // What Redis refuses before EXEC, such as for lack of memory, leaves none of the batch stored.
  std::vector<command> questions{{"MULTI"}};
  for (const auto& sent : batch) questions.push_back(addition_of(sent));
  questions.push_back({"EXEC"});
  const auto replies = connection_.ask_all(questions);
  // The first refusal has the reason; that of EXEC only says that there was one.
  for (const auto& got : replies) connection_.check(*got);
  const reply stored(*replies.back());
  for (std::size_t i = 0; i < stored.size(); ++i) connection_.check(*replies.back()->element[i]);
  if (stored.size() != batch.size()) {
    throw failed{error(errc::conflict, connection_.name() + ": not every message was stored")};
  }
}

}  // namespace onceguard::messaging::redis_streams
