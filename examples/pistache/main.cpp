// A payment server on Pistache whose POST handlers run once for each Idempotency-Key.
//
//   payments 8080 sqlite:onceguard.db
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/pistache.hpp>

#include "../conformance/service.hpp"

using onceguard::pistache::guarded;
using onceguard::pistache::response_writer;
using Pistache::Http::Code;
using Pistache::Rest::Request;
namespace routes = Pistache::Rest::Routes;

std::mutex mutex;  // a handler runs on any thread of the endpoint's
std::vector<std::string> payments;

void pay(const Request& request, response_writer response) {
  std::string answer;
  {
    const std::lock_guard lock(mutex);
    payments.push_back(request.body());
    answer = "payment " + std::to_string(payments.size()) + ": " + request.body() + "\n";
  }
  response.send(Code::Created, answer, MIME(Text, Plain));
}

void list(const Request&, response_writer response) {
  std::string out;
  {
    const std::lock_guard lock(mutex);
    for (const auto& payment : payments) out += payment + "\n";
  }
  response.send(Code::Ok, out, MIME(Text, Plain));
}

void check_conformance(const Request& request, response_writer response) {
  const auto field = [&](const char* name) {
    const auto found = request.headers().tryGetRaw(name);
    return found ? found->value() : std::string();
  };
  auto work = conformance::begin(methodString(request.method()), request.resource(),
                                 field("Conformance-Counter"), field("Conformance-Work"));
  std::this_thread::sleep_for(work.delay);
  if (work.broken) throw std::runtime_error("the work ended without an answer");
  response.send(std::move(work.answer));
}

int main(int count, char** words) {
  if (count != 3) return std::fputs("payments PORT STORE\n", stderr), 2;
  auto guard = onceguard::guard::open(words[2]).value();
  const auto middleware = onceguard::http::middleware::make(guard, conformance::params()).value();

  Pistache::Rest::Router router;
  routes::Get(router, "/payments", guarded(middleware, list));
  routes::Post(router, "/payments", guarded(middleware, pay));
  for (const auto* path : {"/conformance", "/conformance/:name", "/conformance/runs/:name"}) {
    const auto checked = guarded(middleware, check_conformance);
    for (const auto add :
         {routes::Get, routes::Head, routes::Post, routes::Put, routes::Patch, routes::Delete}) {
      add(router, path, checked);
    }
  }

  const auto port = static_cast<std::uint16_t>(std::atoi(words[1]));
  Pistache::Http::Endpoint endpoint({Pistache::Ipv4::loopback(), port});
  endpoint.init(
      Pistache::Http::Endpoint::options()
          .threads(64)  // a connection waits for the others of its thread: its descriptor modulo 64
          .flags(Pistache::Tcp::Options::ReuseAddr)
          .maxRequestSize(1 << 20));
  endpoint.setHandler(onceguard::pistache::handler(router.handler()));
  endpoint.serve();
}
