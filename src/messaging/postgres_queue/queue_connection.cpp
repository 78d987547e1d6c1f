#include "messaging/postgres_queue/queue_connection.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <poll.h>
#include <string_view>

#include "libpq/conninfo.hpp"
#include "libpq/failure.hpp"

namespace onceguard::messaging::postgres_queue {
namespace {

using postgres::error_field;
using postgres::single_line;

/// Waits for the events on the socket: those that came, none at the time's end.
int poll_socket(int socket, int events, base::boot_clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now()).count();
    pollfd one{socket, static_cast<short>(events), 0};
    const auto most = std::clamp<std::int64_t>(left, 0, 60'000);
    if (::poll(&one, 1, static_cast<int>(most)) > 0) return one.revents;
    if (base::boot_now() >= until) return 0;
  }
}

/// Messages of failed logins have the user's name in quotes.
std::string without_user(std::string text, const std::string& user) {
  const auto quoted = '"' + user + '"';
  for (auto found = text.find(quoted); found != text.npos; found = text.find(quoted)) {
    text.replace(found, quoted.size(), "(name withheld)");
  }
  return text;
}

errc code_of(std::string_view sqlstate) noexcept {
  // No table, no schema.
  if (sqlstate == "42P01" || sqlstate == "3F000") return errc::not_found;
  // The login, the database, the connection, the server's shutdown, a statement that took too
  // long, too many connections, a server that became a standby.
  constexpr std::array<std::string_view, 7> unreachable{"28",    "3D000", "08",   "57P",
                                                        "57014", "53300", "25006"};
  const auto fits = [&](std::string_view prefix) { return sqlstate.starts_with(prefix); };
  return std::any_of(unreachable.begin(), unreachable.end(), fits) ? errc::broker_unreachable
                                                                   : errc::conflict;
}

/// Milliseconds as the server and libpq take them; zero would be no limit.
std::int64_t as_setting(std::int64_t duration) {
  return std::clamp<std::int64_t>(duration, 1, std::numeric_limits<std::int32_t>::max());
}

}  // namespace

result<std::unique_ptr<connection>> connection::open(const queue_url& url, milliseconds timeout,
                                                     const std::string& name) {
  std::unique_ptr<connection> out(new connection(url.name, timeout));
  if (auto made = out->connect(url, name); !made) return made.error();
  if (auto ready = out->set_up(); !ready) return ready.error();
  return out;
}

result<void> connection::connect(const queue_url& url, const std::string& name) {
  const auto until = base::boot_now() + timeout_;
  auto options = url.options;
  // Of a host that does not answer at all, too: the next one is tried within the timeout.
  const auto hosts = static_cast<std::int64_t>(url.hosts);
  postgres::complete_options(options, name, milliseconds(as_setting(timeout_.count() / hosts)));
  const postgres::connect_arguments all(options);
  handle_.reset(PQconnectStartParams(all.names.data(), all.values.data(), 0));
  if (!handle_) return lose("no memory for a connection", effect::none);
  if (const char* user = PQuser(handle_.get()); user != nullptr) user_ = user;
  PQsetNoticeReceiver(handle_.get(), on_notice, this);
  if (PQstatus(handle_.get()) == CONNECTION_BAD) {
    return lose(PQerrorMessage(handle_.get()), effect::none);
  }
  auto next = PGRES_POLLING_WRITING;
  while (next != PGRES_POLLING_OK) {
    if (next == PGRES_POLLING_FAILED) return lose(PQerrorMessage(handle_.get()), effect::none);
    const int events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    // PQsocket each time: libpq may have gone on to another address, and so to another socket.
    if (poll_socket(PQsocket(handle_.get()), events, until) == 0) {
      return lose("the server did not answer within the timeout", effect::none);
    }
    next = PQconnectPoll(handle_.get());
  }
  PQsetnonblocking(handle_.get(), 1);
  return {};
}

/// The plans follow the indexes whatever the statistics say: those of a queue, which is empty now
/// and has a million rows in a minute, are never right.
result<void> connection::set_up() {
  // A tenth less: the server's refusal, which says that nothing was done, comes before the time is
  // up.
  const auto most = as_setting(timeout_.count() - timeout_.count() / 10);
  const std::string settings =
      "SELECT pg_catalog.set_config(n, v, false) FROM (VALUES ('synchronous_commit', 'on'),"
      "('default_transaction_isolation', 'read committed'), ('default_transaction_read_only', "
      "'off'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'), ('enable_hashjoin', 'off'),"
      "('enable_mergejoin', 'off'), ('jit', 'off'), ('statement_timeout', '" +
      std::to_string(most) + "')) AS s(n, v)";
  if (auto done = run(settings); !done) return done.error();
  return {};
}

result<rows> connection::run(const std::string& statement, const parameters& values, races lost) {
  const auto until = base::boot_now() + timeout_;
  for (;;) {
    sqlstate_.clear();
    auto got = run_once(statement, values, until);
    if (got || base::boot_now() >= until) return got;
    const bool raced =
        sqlstate_.starts_with("40") || (lost == races::with_unique && sqlstate_ == "23505");
    // Rolled back as a whole: outside of BEGIN, each statement is a transaction of its own. Within,
    // it has taken the statements before it along.
    const bool alone = handle_ && PQtransactionStatus(handle_.get()) == PQTRANS_IDLE;
    if (!raced || !alone) return got;
  }
}

result<rows> connection::run_once(const std::string& statement, const parameters& values,
                                  instant until) {
  if (!handle_) return error(errc::broker_unreachable, broken_);
  standby_skipped_ = false;
  if (!values.send_text(handle_.get(), statement.c_str())) {
    return lose(PQerrorMessage(handle_.get()), effect::unknown);
  }
  if (auto sent = flush(until); !sent) return sent.error();
  auto got = read(until);
  if (got && standby_skipped_) {
    return error(errc::broker_unreachable, name_ + ": the wait for the standby was cancelled",
                 effect::unknown);
  }
  return got;
}

result<void> connection::flush(instant until) {
  for (;;) {
    const int left = PQflush(handle_.get());
    if (left == 0) return {};
    if (left < 0) return lose(PQerrorMessage(handle_.get()), effect::unknown);
    // The server may have to send before it reads on.
    const int events = poll_socket(PQsocket(handle_.get()), POLLIN | POLLOUT, until);
    if (events == 0) return lose("the server did not take it in time", effect::unknown);
    if ((events & POLLIN) != 0 && PQconsumeInput(handle_.get()) == 0) {
      return lose(PQerrorMessage(handle_.get()), effect::unknown);
    }
  }
}

/// Reads until the server is ready again: the commit follows the statement's own result.
result<rows> connection::read(instant until) {
  rows out;
  std::optional<error> refused;
  for (;;) {
    while (PQisBusy(handle_.get()) != 0) {
      if (poll_socket(PQsocket(handle_.get()), POLLIN, until) == 0) {
        return lose("the server did not answer within the timeout", effect::unknown);
      }
      if (PQconsumeInput(handle_.get()) == 0) {
        return lose(refused ? refused->detail : PQerrorMessage(handle_.get()), effect::unknown);
      }
    }
    postgres::result_ptr got(PQgetResult(handle_.get()));
    if (!got) break;
    const auto status = PQresultStatus(got.get());
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      out = rows(std::move(got));
    } else if (!refused) {
      refused = refusal(got.get());
    }
  }
  if (PQstatus(handle_.get()) != CONNECTION_OK) {
    return lose(refused ? refused->detail : PQerrorMessage(handle_.get()), effect::unknown);
  }
  if (refused) return *std::move(refused);
  return out;
}

result<bool> connection::wait(milliseconds at_most) {
  const auto until = base::boot_now() + at_most;
  for (;;) {
    if (!handle_) return error(errc::broker_unreachable, broken_);
    if (PQconsumeInput(handle_.get()) == 0) {
      return lose(PQerrorMessage(handle_.get()), effect::none);
    }
    // Parses what the server sends of its own accord, its farewell too.
    static_cast<void>(PQisBusy(handle_.get()));
    if (take_notifications()) return true;
    if (PQstatus(handle_.get()) != CONNECTION_OK) {
      return lose(PQerrorMessage(handle_.get()), effect::none);
    }
    if (poll_socket(PQsocket(handle_.get()), POLLIN, until) == 0) return false;
  }
}

bool connection::take_notifications() {
  bool any = false;
  while (handle_) {
    PGnotify* const one = PQnotifies(handle_.get());
    if (one == nullptr) break;
    PQfreemem(one);
    any = true;
  }
  return any;
}

bool connection::refused_data() const noexcept {
  return sqlstate_.starts_with("22") || sqlstate_.starts_with("54") || sqlstate_ == "XX001" ||
         sqlstate_ == "XX002";
}

error connection::refusal(const PGresult* refused) {
  sqlstate_ = error_field(refused, PG_DIAG_SQLSTATE);
  auto text = single_line(error_field(refused, PG_DIAG_MESSAGE_PRIMARY));
  if (text.empty()) text = single_line(PQresultErrorMessage(refused));
  auto detail = name_ + ": " + without_user(std::move(text), user_) + " [" + sqlstate_ + ']';
  const bool whole = error_field(refused, PG_DIAG_SEVERITY_NONLOCALIZED) == "ERROR";
  return {code_of(sqlstate_), std::move(detail), whole ? effect::none : effect::unknown};
}

error connection::lose(const std::string& why, effect effect) {
  auto text = without_user(single_line(why), user_);
  if (text.empty()) text = "the connection broke";
  broken_ = text.starts_with(name_) ? std::move(text) : name_ + ": " + text;
  handle_.reset();
  return {errc::broker_unreachable, broken_, effect};
}

void connection::on_notice(void* self, const PGresult* notice) {
  if (postgres::standby_wait_cancelled(notice)) {
    static_cast<connection*>(self)->standby_skipped_ = true;
  }
}

}  // namespace onceguard::messaging::postgres_queue
