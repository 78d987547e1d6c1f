// A connection of a queue's consumer or publisher: one statement at a time, and nothing that waits
// for longer than the timeout. Only the resolution of a host's name blocks, in libpq. The session
// is this connection's: a pooler must pool by session, as notifications and settings belong to it.
#pragma once
#include <memory>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "libpq/binary_format.hpp"
#include "libpq/conninfo.hpp"
#include "messaging/postgres_queue/queue_url.hpp"

namespace onceguard::messaging::postgres_queue {

using postgres::array_value;
using postgres::parameters;
using rows = postgres::lenient_rows;
/// For statements that don't say of which types their parameters are.
[[nodiscard]] inline parameters typed() { return parameters(postgres::typing::of_values); }

/// Which refusals mean that another transaction was faster, so that the statement is sent again.
enum class races : std::uint8_t {
  usual,        ///< deadlocks and serialization
  with_unique,  ///< a unique index that exists to lose races at, too
};

class connection {
 public:
  /// Connects, and sets the session up.
  [[nodiscard]] static result<std::unique_ptr<connection>> open(const queue_url& url,
                                                                milliseconds timeout,
                                                                const std::string& name);

  /// Runs one statement. errc::broker_unreachable: also each statement after the connection broke.
  /// effect::none: the server has refused it as a whole.
  [[nodiscard]] result<rows> run(const std::string& statement, const parameters& values = {},
                                 races lost = races::usual);
  /// Waits for a notification: whether one came. An error: the connection broke.
  [[nodiscard]] result<bool> wait(milliseconds at_most);
  /// Forgets the notifications that have arrived.
  bool take_notifications();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Whether the last statement was refused for what stands in a row: a text that the encoding does
  /// not know, a value out of range or too large, a damaged page.
  [[nodiscard]] bool refused_data() const noexcept;

 private:
  using instant = base::boot_clock::time_point;

  connection(std::string name, milliseconds timeout) : name_(std::move(name)), timeout_(timeout) {}
  [[nodiscard]] result<void> connect(const queue_url& url, const std::string& name);
  [[nodiscard]] result<void> set_up();
  [[nodiscard]] result<rows> run_once(const std::string& statement, const parameters& values,
                                      instant until);
  [[nodiscard]] result<void> flush(instant until);
  [[nodiscard]] result<rows> read(instant until);
  [[nodiscard]] error refusal(const PGresult* refused);
  /// The connection is of no use any more.
  [[nodiscard]] error lose(const std::string& why, effect effect);
  static void on_notice(void* self, const PGresult* notice);

  const std::string name_;
  const milliseconds timeout_;
  std::string user_;
  postgres::connection_ptr handle_;  // null: it broke
  std::string broken_;               // why
  std::string sqlstate_;             // of the last refusal
  bool standby_skipped_ = false;     // a commit did not wait for its standby
};

}  // namespace onceguard::messaging::postgres_queue
