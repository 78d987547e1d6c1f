// A payment server on RESTinio whose POST handlers run once for each Idempotency-Key.
//
//   payments 8080 sqlite:onceguard.db
//   curl -d 'EUR 20' -H 'Idempotency-Key: "order-17"' http://127.0.0.1:8080/payments
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <restinio/all.hpp>
#include <string>
#include <vector>

#include <onceguard/restinio.hpp>

#include "../conformance/service.hpp"

using restinio::request_handle_t;
using restinio::request_handling_status_t;

std::mutex mutex;  // a handler runs on any thread of the pool
std::vector<std::string> payments;

request_handling_status_t pay(const request_handle_t& request) {
  const std::lock_guard lock(mutex);
  payments.push_back(request->body());
  return request->create_response(restinio::status_created())
      .set_body("payment " + std::to_string(payments.size()) + ": " + request->body() + "\n")
      .done();
}

request_handling_status_t list(const request_handle_t& request) {
  const std::lock_guard lock(mutex);
  auto out = request->create_response();
  for (const auto& payment : payments) out.append_body(payment + "\n");
  return out.done();
}

request_handling_status_t handle(const request_handle_t& request) {
  const auto& target = request->header().request_target();
  if (conformance::is_work(target)) {
    return onceguard::restinio::served(request, conformance::serve);
  }
  if (target != "/payments") return request->create_response(restinio::status_not_found()).done();
  return request->header().method() == restinio::http_method_post() ? pay(request) : list(request);
}

int main(int count, char** words) {
  if (count != 3) return std::fputs("payments PORT STORE\n", stderr), 2;
  auto guard = onceguard::guard::open(words[2]).value();
  const auto middleware = onceguard::http::middleware::make(guard, conformance::params()).value();
  boost::asio::io_context io;
  restinio::run(io, restinio::on_thread_pool(8)
                        .address("127.0.0.1")
                        .port(static_cast<std::uint16_t>(std::atoi(words[1])))
                        .request_handler(
                            onceguard::restinio::guarded(middleware, io.get_executor(), handle)));
}
