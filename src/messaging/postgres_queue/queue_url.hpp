// The URL of a queue in PostgreSQL: libpq's URL, with the queue's parameters among libpq's.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::messaging::postgres_queue {

inline constexpr std::string_view consumer_example =
    "postgresql://HOST/DATABASE?queue=[SCHEMA.]TABLE&hold=30s";
inline constexpr std::string_view outbox_example =
    "postgresql://HOST/DATABASE?outbox=[SCHEMA.]TABLE";
inline constexpr std::string_view publisher_example =
    "postgresql://HOST/DATABASE?queue=[SCHEMA.]TABLE";

struct queue_url {
  std::map<std::string, std::string> options;  ///< for libpq, by its keywords
  std::string table;                           ///< quoted as SQL wants it, with its schema if given
  std::string schema;                          ///< the same of the schema alone; empty: none given
  milliseconds hold{30'000};
  bool outbox = false;  ///< given as `outbox`, and not as `queue`: has the columns of an outbox
  bool dead = false;    ///< consumes the dead letters
  bool skips = false;   ///< a message that waits for its delay lets later ones of its key pass
  std::size_t hosts = 1;

  /// "postgresql://host:port/database?queue=schema.table": for people, without user and password.
  std::string name;
};

/// Names of schema and table are taken as they are, without folding to lower case; a dot in a name
/// is written as %2E. errc::invalid_argument: no error text holds a user, a password or a value.
[[nodiscard]] result<queue_url> parse_queue_url(std::string_view text);

}  // namespace onceguard::messaging::postgres_queue
