// A payment server on cpp-httplib whose POST handlers run once for each Idempotency-Key.
//
//   payments 8080 sqlite:onceguard.db
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <onceguard/httplib.hpp>

#include "../conformance/service.hpp"
#include "reuse_address.hpp"

using httplib::Request;
using httplib::Response;

std::mutex mutex;  // a handler runs on any thread of the server's
std::vector<std::string> payments;

void pay(const Request& request, Response& response) {
  const std::lock_guard lock(mutex);
  payments.push_back(request.body);
  response.status = 201;
  response.set_content("payment " + std::to_string(payments.size()) + ": " + request.body + "\n",
                       "text/plain");
}

void list(const Request&, Response& response) {
  const std::lock_guard lock(mutex);
  std::string out;
  for (const auto& payment : payments) out += payment + "\n";
  response.set_content(out, "text/plain");
}

void check_conformance(const Request& request, Response& response) {
  onceguard::httplib::served(request, response, conformance::serve);
}

int main(int count, char** words) {
  if (count != 3) return std::fputs("payments PORT STORE\n", stderr), 2;
  auto guard = onceguard::guard::open(words[2]).value();
  const auto middleware = onceguard::http::middleware::make(guard, conformance::params()).value();
  httplib::Server server;
  reuse_address(server);
  // Each connection occupies a thread, also between its requests. Many that come at once are let in
  // over seconds: the server listens with a backlog of 5.
  server.new_task_queue = [] { return new httplib::ThreadPool(64); };
  server.set_keep_alive_timeout(60);
  server.Get("/payments", list);
  server.Post("/payments", onceguard::httplib::guarded(middleware, pay));

  const auto checked = onceguard::httplib::guarded(middleware, check_conformance);
  server.Get("/conformance.*", checked).Put("/conformance.*", checked);
  server.Post("/conformance.*", checked).Patch("/conformance.*", checked);
  server.Delete("/conformance.*", checked);
  if (server.listen("127.0.0.1", std::atoi(words[1]))) return 0;
  return std::fprintf(stderr, "cannot listen on port %s\n", words[1]), 1;
}
