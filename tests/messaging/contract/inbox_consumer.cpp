// What the crash suite kills: a consumer whose effects are rows of a PostgreSQL database.
//   inbox_consumer inbox|naive QUEUE_URL DATABASE_URL
// `inbox` handles each message once, in the transaction of its effect; `naive` does what a consumer
// without an inbox does: effect, COMMIT, acknowledge. Ends at SIGTERM.
#include <csignal>
#include <iostream>
#include <libpq-fe.h>
#include <memory>
#include <stop_token>
#include <thread>

#include <onceguard/inbox_postgres.hpp>
#include <onceguard/postgres.hpp>
#include <onceguard/subscription.hpp>

namespace {

using onceguard::inbox_message;
using onceguard::inbox_outcome;
using onceguard::inbox_result;
using onceguard::milliseconds;
using onceguard::messaging::batch_worker;
using onceguard::messaging::delivered;

struct connection_end {
  void operator()(PGconn* open) const { PQfinish(open); }
};
void run(PGconn* connection, const char* statement, const inbox_message& message) {
  const std::string id(message.id);
  const char* const values[]{id.c_str()};
  const std::unique_ptr<PGresult, void (*)(PGresult*)> got(
      PQexecParams(connection, statement, 1, nullptr, values, nullptr, nullptr, 0), PQclear);
  onceguard::postgres::check(connection, got.get());
}

constexpr auto effect = "INSERT INTO effects (message) VALUES ($1)";

std::shared_ptr<PGconn> connect(const std::string& url) {
  std::unique_ptr<PGconn, connection_end> made(PQconnectdb(url.c_str()));
  if (PQstatus(made.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(made.get()));
  return made;
}

batch_worker with_inbox(const std::string& url) {
  auto connection = connect(url);
  onceguard::inbox_policy policy;
  policy.lease = milliseconds(5'000);
  auto inbox = std::make_shared<onceguard::postgres::inbox>(connection.get(), "crash", policy);
  return [connection, inbox](std::span<const delivered> batch) {
    return inbox->process(onceguard::messaging::messages_of(batch),
                          [&](const inbox_message& message, const onceguard::lease&) {
                            run(connection.get(), effect, message);
                          });
  };
}

batch_worker without_inbox(const std::string& url) {
  auto connection = connect(url);
  return [connection](
             std::span<const delivered> batch) -> onceguard::result<std::vector<inbox_outcome>> {
    std::vector<inbox_outcome> out;
    for (const auto& message : onceguard::messaging::messages_of(batch)) {
      run(connection.get(), effect, message);
      inbox_outcome done;
      done.kind = inbox_result::handled;
      out.push_back(done);
    }
    return out;
  };
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  const std::string mode(words[1]);
  const std::string database(words[3]);
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::stop_source stop;
  const std::jthread waiter([&](const std::stop_token& done) {
    constexpr timespec step{0, 100'000'000};
    while (!done.stop_requested() && ::sigtimedwait(&ends, nullptr, &step) != SIGTERM) {
    }
    stop.request_stop();
  });
  onceguard::messaging::subscription_params params;
  params.queue.url = words[2];
  params.queue.in_flight = 200;
  params.batch = 100;
  params.drop_dead_letters = true;
  const auto worker = [&] {
    return mode == "inbox" ? with_inbox(database) : without_inbox(database);
  };
  const auto done = onceguard::messaging::run_subscription(params, stop.get_token(), worker);
  if (done) return 0;
  std::cerr << done.error().detail << "\n";
  return 1;
}
