// Requests to Redis: commands, and the callers that wait for their replies.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "store/redis/commands/keyspace.hpp"
#include "store/redis/commands/scripts.hpp"
#include "store/redis/redis_params.hpp"
#include "store/redis/transport/resp.hpp"
#include "store/request_job.hpp"

namespace onceguard::redis {

/// One process of a server. A restarted server is another one.
struct server_pin {
  redis::endpoint endpoint;
  std::uint64_t life = 0;  ///< 0: not connected yet
  friend bool operator==(const server_pin&, const server_pin&) = default;
};

/// One command and what became of it. Belongs to the pool's thread while its job is under way.
struct request {
  std::string command;
  std::optional<script> called{};    ///< the script whose digest the command has
  std::optional<record_id> about{};  ///< requests of one record are carried out in order
  std::optional<server_pin> pin{};   ///< the server that it must go to; none: the record's
  bool writes = false;
  bool grants = false;     ///< carried out, it may give its caller a lease
  bool announces = false;  ///< it ends a lease, which others may wait for
  bool repeatable = true;  ///< it may be sent again when its effect is unknown

  reply_ptr got{};                ///< no error
  std::optional<error> failed{};  ///< instead
  bool doubtful = false;          ///< an earlier sending has an unknown effect

  void fail(const error& why) {
    failed = why;
    if (!writes) failed->effect = effect::none;
  }
};

using job = request_job<request>;

/// What `read` makes of the reply.
template <class Read>
[[nodiscard]] auto read_outcome(const request& done, Read read)
    -> result<decltype(read(reply(*done.got)))> {
  if (done.failed) return *done.failed;
  try {
    return read(reply(*done.got));
  } catch (const unexpected_reply& wrong) {
    return error(errc::store_unreachable, "redis store: " + wrong.why.text,
                 done.writes ? effect::unknown : effect::none);
  }
}

/// A part of a job in flight.
struct entry {
  std::shared_ptr<redis::job> job;
  redis::request* request = nullptr;
  std::uint64_t number = 0;  ///< in the order of arrival
  std::uint16_t part = 0;    ///< of the store
  bool queued = false;       ///< sent by its queue, not to a named server
};

}  // namespace onceguard::redis
