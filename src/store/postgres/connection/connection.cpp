#include "store/postgres/connection/connection.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/post.hpp>

#include "base/random.hpp"
#include "store/postgres/schema.hpp"

namespace onceguard::postgres {
namespace {

using boost::asio::posix::stream_descriptor;

failure connection_failure(std::string text) { return {{}, std::move(text), true}; }

std::int64_t random_number() {
  std::array<unsigned char, 8> bytes{};
  base::random_bytes(bytes);
  std::uint64_t out = 0;
  for (const auto each : bytes) out = out << 8 | each;
  return static_cast<std::int64_t>(out >> 1);
}

}  // namespace

connection::connection(boost::asio::io_context& context, connection_events& events,
                       milliseconds timeout)
    : context_(context),
      events_(events),
      timeout_(timeout),
      socket_(context),
      number_(random_number()) {}

// --- connecting -----------------------------------------------------------------------------

void connection::open(const target& target, bool listens) {
  const connect_arguments arguments(target.options);
  listens_ = listens;
  phase_ = phase::connecting;
  arm(base::timer_wheel::of(context_), timeout_);
  handle_ = PQconnectStartParams(arguments.names.data(), arguments.values.data(), 0);
  const auto begun = epoch_;
  boost::asio::post(context_, [this, begun] {
    if (begun != epoch_) return;
    if (handle_ == nullptr) return lose(connection_failure("out of memory"));
    PQsetNoticeReceiver(handle_, on_notice, this);
    // Only the verbose text of a refused connection has its SQLSTATE: see failure_to_connect().
    PQsetErrorVerbosity(handle_, PQERRORS_VERBOSE);
    if (PQstatus(handle_) == CONNECTION_BAD) return lose(failure_to_connect(handle_));
    if (attach()) await(stream_descriptor::wait_write);
  });
}

void connection::poll_connection() {
  // PQconnectPoll may replace the socket.
  detach();
  const auto state = PQconnectPoll(handle_);
  if (state == PGRES_POLLING_FAILED) return lose(failure_to_connect(handle_));
  if (!attach()) return;
  switch (state) {
    case PGRES_POLLING_READING:
      return await(stream_descriptor::wait_read);
    case PGRES_POLLING_WRITING:
      return await(stream_descriptor::wait_write);
    default:
      return inquire();
  }
}

/// Waits on a duplicate of libpq's descriptor. libpq closes its descriptor when the connection
/// breaks, and another thread may reuse the number at once.
bool connection::attach() {
  boost::system::error_code failed;
  const int descriptor = ::fcntl(PQsocket(handle_), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) {
    failed.assign(errno, boost::system::system_category());
  } else if (socket_.assign(descriptor, failed); failed) {
    ::close(descriptor);
  }
  if (failed) lose(connection_failure("waiting for the server: " + failed.message()));
  return !failed;
}

void connection::detach() noexcept {
  ++epoch_;
  reading_ = writing_ = false;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

/// Before anything is set: a pooler greets with the number of a process of its own.
void connection::inquire() {
  phase_ = phase::inquiring;
  PQsetErrorVerbosity(handle_, PQERRORS_DEFAULT);
  arm(base::timer_wheel::of(context_), timeout_);
  pooled_ = expects_pooler_;
  results_.clear();
  expected_ = 0;
  const bool sent = PQsetnonblocking(handle_, 1) == 0 && PQenterPipelineMode(handle_) == 1 &&
                    send_process_question(handle_) && PQpipelineSync(handle_) == 1;
  if (!sent) return lose(failure_of(handle_));
  syncs_ = 1;
  await(stream_descriptor::wait_read);
  flush();
}

void connection::end_inquiry() {
  if (failed_) return lose(*failed_);
  if (results_.size() != 1) return lose(connection_failure("no answer"));
  pooled_ = pooled_ || rows(results_.front().get()).integer(0, 0) != PQbackendPID(handle_);
  set_up();
}

/// Flushed by whoever received the answer to the inquiry.
void connection::set_up() {
  phase_ = phase::setting_up;
  arm(base::timer_wheel::of(context_), timeout_);
  results_.clear();
  expected_ = 1;
  bool sent = false;
  if (pooled_) {
    // A pooler that knows no transactions refuses the first statement by itself.
    sent = send_begin(handle_) && PQpipelineSync(handle_) == 1 &&
           send_settings(handle_, timeout_, validity::transaction) &&
           send_hello(handle_, events_.memory()) && end();
    syncs_ = 2;
  } else {
    sent = send_settings(handle_, timeout_, validity::session) &&
           send_hello(handle_, events_.memory()) && (!listens_ || send_listen(handle_)) &&
           PQpipelineSync(handle_) == 1 && send_preparations(handle_);
    syncs_ = 1 + static_cast<int>(all_statements().size());
  }
  if (!sent) lose(failure_of(handle_));
}

// --- waiting --------------------------------------------------------------------------------

void connection::await(stream_descriptor::wait_type type) {
  auto& waiting = type == stream_descriptor::wait_read ? reading_ : writing_;
  if (std::exchange(waiting, true)) return;
  socket_.async_wait(type, [this, type, begun = epoch_](const boost::system::error_code& ec) {
    if (ec || begun != epoch_) return;
    (type == stream_descriptor::wait_read ? reading_ : writing_) = false;
    on_event(type);
  });
}

void connection::on_event(stream_descriptor::wait_type type) {
  if (phase_ == phase::connecting) return poll_connection();
  if (type == stream_descriptor::wait_write) return flush();
  const bool broken = PQconsumeInput(handle_) == 0;
  // Results that arrived before a break still count: the server sends the reason for the break.
  const auto begun = epoch_;
  receive();
  if (begun != epoch_) return;
  if (broken) return lose(failure_of(handle_));
  await(stream_descriptor::wait_read);
  flush();
}

void connection::flush() {
  const int left = PQflush(handle_);
  if (left < 0) {
    // An error message of the server may be waiting to be read.
    if (PQconsumeInput(handle_) == 0) return lose(failure_of(handle_));
    return;
  }
  if (left > 0) await(stream_descriptor::wait_write);
}

void connection::expired() {
  lose(connection_failure(phase_ == phase::busy ? "the server did not answer in time"
                                                : "the connection was not made in time"));
}

// --- trips ----------------------------------------------------------------------------------

void connection::start(std::unique_ptr<trip> sent) {
  trip_ = std::move(sent);
  phase_ = phase::busy;
  failed_.reset();
  results_.clear();
  distrusted_ = false;
  // The server ends a statement at statement_timeout and reports it. This deadline is for a server
  // that is out of reach.
  arm(base::timer_wheel::of(context_), timeout_ + timeout_ / 4);
  expected_ = (pooled_ ? 1 : 0) + (trip_->confirms() ? 1 : 0);
  syncs_ = 1;
  if (begin() && (!trip_->confirms() || send_marker(handle_)) && send_calls() && end())
    return flush();
  // Posted, because the pool is still assigning trips when it calls start().
  boost::asio::post(context_, [this, why = failure_of(handle_), begun = epoch_] {
    if (begun == epoch_) lose(why);
  });
}

/// A session of its own has its settings already, and each Sync ends a transaction.
bool connection::begin() {
  if (!pooled_) return true;
  in_transaction_ = true;
  return send_begin(handle_) && send_settings(handle_, timeout_, validity::transaction);
}

bool connection::end() {
  return (!pooled_ || send_commit(handle_)) && PQpipelineSync(handle_) == 1;
}

bool connection::send_calls() {
  // Counts go under another number, and so into another row, from time to time: while somebody's
  // transaction stays open, no version of a row that is updated can be removed.
  if (++trips_ % 50'000 == 0) number_ = random_number();
  const auto calls = trip_->calls(number_);
  return std::all_of(calls.begin(), calls.end(), [this](const statement_call& each) {
    return pooled_ ? each.values.send_text(handle_, each.sent->text)
                   : each.values.send(handle_, each.sent->name);
  });
}

void connection::roll_back() {
  // COMMIT was not reached: without this, the pooler's session would stay in the failed
  // transaction.
  phase_ = phase::rolling_back;
  in_transaction_ = false;
  if (!send_rollback(handle_) || PQpipelineSync(handle_) != 1) return lose(failure_of(handle_));
  syncs_ = 1;
}

void connection::receive() {
  read_announcements();
  int ends = 0;  // consecutive null results; after the second one libpq expects nothing more
  const auto begun = epoch_;
  while (syncs_ > 0 && begun == epoch_ && PQisBusy(handle_) == 0) {
    result_ptr got(PQgetResult(handle_));
    if (!got && ++ends < 2) continue;
    if (!got) return;
    ends = 0;
    take(std::move(got));
  }
}

void connection::take(result_ptr got) {
  const auto status = PQresultStatus(got.get());
  if (status == PGRES_PIPELINE_SYNC) return synced();
  if (status == PGRES_PIPELINE_ABORTED) return;
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    if (got && !pooled_ && is_of_another_session(failure_of(got.get()))) expects_pooler_ = true;
    // Only the first error counts: a second one comes from the break after the server's message.
    if (!failed_) failed_ = failure_of(got.get());
    if (PQstatus(handle_) == CONNECTION_BAD) lose(*failed_);
    return;
  }
  if (status == PGRES_COMMAND_OK) {
    if (std::string_view(PQcmdStatus(got.get())) == "COMMIT") in_transaction_ = false;
    return;
  }
  // Rows of the settings and of the marker arrive before those of the trip's statements.
  if (expected_ > 0) {
    --expected_;
  } else {
    results_.push_back(std::move(got));
  }
}

void connection::check_greeting() {
  try {
    if (results_.empty()) throw unexpected_answer("no greeting");
    greeting_ = read_greeting(rows(results_.front().get()));
  } catch (const unexpected_answer& wrong) {
    failed_ = {"XX000", wrong.what(), false};
    return;
  }
  if (greeting_.schema_version < schema_version) {
    failed_ = {older_schema,
               "the schema onceguard is at " + std::to_string(greeting_.schema_version) +
                   " and this version needs " + std::to_string(schema_version),
               false};
  } else if (greeting_.minimum_version > schema_version) {
    failed_ = {newer_schema,
               "the schema onceguard was written by a newer version of onceguard (schema " +
                   std::to_string(greeting_.schema_version) + "; this version knows " +
                   std::to_string(schema_version) + ")",
               false};
  }
}

/// A Sync has been answered. The last one ends what the phase stands for.
void connection::synced() {
  if (--syncs_ > 0) return;
  switch (phase_) {
    case phase::inquiring:
      return end_inquiry();
    case phase::setting_up:
      return end_set_up();
    case phase::busy: {
      const auto begun = epoch_;
      end_trip();
      if (begun != epoch_) return;
      failed_.reset();
      return in_transaction_ ? roll_back() : become_idle();
    }
    case phase::rolling_back:
      return failed_ ? lose(*failed_) : become_idle();
    case phase::closed:
    case phase::connecting:
    case phase::idle:
      break;  // nothing was sent
  }
}

void connection::become_idle() {
  disarm();
  phase_ = phase::idle;
  events_.on_ready(*this);
}

void connection::refuse_set_up() {
  if (failed_->sqlstate == no_permission) {
    const std::string_view user(PQuser(handle_));
    failed_->text += "; an administrator types: GRANT onceguard_gateway TO ";
    failed_->text.append(1, '"').append(user).append("\";");
  }
  lose(*failed_);
}

void connection::end_set_up() {
  if (!failed_) check_greeting();
  if (failed_) return refuse_set_up();
  events_.on_greeting(*this, greeting_);
  become_idle();
}

void connection::end_trip() {
  const auto ended = std::move(trip_);
  const auto results = std::exchange(results_, {});
  if (failed_) {
    const bool elsewhere = remedy_of(*failed_) == remedy::reconnect;
    ended->failed(*failed_,
                  failed_->lost ? effect_of_failure::unknown : effect_of_failure::rolled_back);
    if (elsewhere) lose(*failed_);
    return;
  }
  if (distrusted_) {
    return ended->failed({"01000", "the wait for the standby was cancelled", false},
                         effect_of_failure::unknown);
  }
  try {
    ended->arrived(results);
  } catch (const unexpected_answer& wrong) {
    ended->failed({"XX000", wrong.what(), false}, effect_of_failure::unknown);
  }
}

void connection::read_announcements() {
  while (PGnotify* ended = PQnotifies(handle_)) {
    // The callers of this process already know of this session's own settles.
    if (ended->be_pid != PQbackendPID(handle_)) events_.on_announcement(ended->extra);
    PQfreemem(ended);
  }
}

void connection::on_notice(void* self, const PGresult* notice) {
  auto& receiver = *static_cast<connection*>(self);
  if (standby_wait_cancelled(notice)) {
    receiver.distrusted_ = true;
    const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    receiver.events_.on_warning(text == nullptr ? "" : text);
  }
}

// --- ending ---------------------------------------------------------------------------------

void connection::lose(const failure& why) {
  const auto pending = std::move(trip_);
  // If an error arrived before the break, the transaction was rolled back.
  const bool rolled_back = failed_ && !failed_->lost;
  const auto reason = failed_ ? *failed_ : why;
  close();
  if (pending)
    pending->failed(reason,
                    rolled_back ? effect_of_failure::rolled_back : effect_of_failure::unknown);
  events_.on_lost(*this, reason);
}

void connection::close() noexcept {
  disarm();
  detach();
  if (handle_ != nullptr) PQfinish(std::exchange(handle_, nullptr));
  trip_.reset();
  results_.clear();
  failed_.reset();
  syncs_ = 0;
  in_transaction_ = false;
  phase_ = phase::closed;
}

}  // namespace onceguard::postgres
