// Charges a customer once, however often it is called with the same key: the charge and the
// record of it commit together.
//
//   onceguard migrate --store postgresql://localhost/shop
//   charge postgresql://localhost/shop order-17 ada 4200
#include <cstdio>
#include <libpq-fe.h>
#include <memory>
#include <string>

#include <onceguard/postgres.hpp>

using result_ptr = std::unique_ptr<PGresult, decltype(&PQclear)>;

int main(int count, char** words) {
  if (count != 5) return std::fputs("charge URL KEY CUSTOMER CENTS\n", stderr), 2;
  const std::string key = words[2], customer = words[3], cents = words[4];
  const std::unique_ptr<PGconn, decltype(&PQfinish)> shop(PQconnectdb(words[1]), PQfinish);

  const auto reply = onceguard::postgres::execute(
      shop.get(), {customer, key, cents}, [&](const onceguard::lease&) -> onceguard::answer {
        const char* values[] = {customer.c_str(), cents.c_str()};
        const result_ptr made(
            PQexecParams(shop.get(),
                         "INSERT INTO charges (customer, cents) VALUES ($1, $2) RETURNING id", 2,
                         nullptr, values, nullptr, nullptr, 0),
            PQclear);
        onceguard::postgres::check(shop.get(), made.get());
        return {201, {}, "{\"id\":" + std::string(PQgetvalue(made.get(), 0, 0)) + "}"};
      });

  if (!reply) {
    std::fprintf(stderr, "%s\n", reply.error().detail.c_str());
    return reply.error().retryable() ? 75 : 1;  // 75: try again
  }
  switch (reply->kind) {
    case onceguard::verdict_kind::run:
      return std::printf("%d %s\n", reply->answer->status, reply->answer->body.c_str()), 0;
    case onceguard::verdict_kind::replay:
      return std::printf("%d %s (replayed)\n", reply->answer->status, reply->answer->body.c_str()),
             0;
    case onceguard::verdict_kind::busy:
      return std::puts("409 somebody is at it"), 75;
    case onceguard::verdict_kind::mismatch:
      return std::puts("422 this key was used for something else"), 1;
    default:
      return std::puts("409 not now"), 1;
  }
}
