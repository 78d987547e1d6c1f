// A Pistache server with a handler for each way of answering: pistache_answers PORT FOLDER
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <onceguard/pistache.hpp>

#include "../support/packed.hpp"

using onceguard::pistache::response_writer;
using Pistache::Http::Code;
using Pistache::Rest::Request;
namespace routes = Pistache::Rest::Routes;

namespace {

std::atomic<int> runs{0};
std::string folder;

/// Adds one to the runs; the text is the run's own.
std::string next_text() { return "run " + std::to_string(++runs); }

void whole(const Request& request, response_writer response) {
  const auto attempt = request.headers().tryGetRaw("Onceguard-Attempt");
  response.send(onceguard::http::response{201,
                                          {{"Link", "<a>"},
                                           {"Content-Type", "text/plain"},
                                           {"Set-Cookie", "a=1"},
                                           {"X-Server", "one"},
                                           {"Link", "<b>"},
                                           {"Idempotent-Replayed", "true"},
                                           {"X-Attempt", attempt ? attempt->value() : "none"}},
                                          next_text()});
}

void packed(const Request& request, response_writer response) {
  ++runs;
  const auto origin = request.headers().tryGetRaw("Origin");
  response.send(
      onceguard::http::response{200,
                                {{"Content-Encoding", "gzip"},
                                 {"Access-Control-Allow-Origin", origin ? origin->value() : ""}},
                                std::string(onceguard::testing::packed_hello)});
}

void typed(const Request&, response_writer response) {
  response.headers().add<Pistache::Http::Header::Location>("/runs/1");
  response.cookies().add(Pistache::Http::Cookie("a", "1"));
  response.send(Code::Created, next_text(), MIME(Text, Plain));
}

void stream(const Request&, response_writer response) {
  auto text = next_text();
  auto out = response.stream(Code::Ok);
  if (!out) return;
  out->write(text.data(), static_cast<std::streamsize>(text.size()));
  out->ends();
}

void send_file(const std::string& text, response_writer& response) {
  const auto name = folder + "/" + std::to_string(runs) + ".txt";
  std::ofstream(name) << text;
  response.send_file(name);
}
void file(const Request&, response_writer response) { send_file(next_text(), response); }
void long_file(const Request&, response_writer response) {
  send_file(next_text() + std::string(2000, 'x'), response);
}
void missing_file(const Request&, response_writer response) {
  next_text();
  response.send_file(folder + "/none");
}

void another_thread(const Request&, response_writer response) {
  static std::jthread other;
  other = std::jthread(
      [response = std::move(response)]() mutable { response.send(Code::Created, next_text()); });
}

void drop(const Request&, response_writer) { next_text(); }

[[noreturn]] void refuses(const Request&, response_writer) {
  throw Pistache::Http::HttpError(Code::Bad_Request, next_text());
}
[[noreturn]] void breaks(const Request&, response_writer) {
  throw Pistache::Http::HttpError(Code::Internal_Server_Error, next_text());
}
[[noreturn]] void fails(const Request&, response_writer) { throw std::runtime_error(next_text()); }
[[noreturn]] void not_done(const Request&, response_writer) {
  throw onceguard::not_done(next_text());
}
[[noreturn]] void try_later(const Request&, response_writer) {
  throw onceguard::try_later(next_text());
}

void count(const Request&, response_writer response) {
  response.send(Code::Ok, std::to_string(runs));
}

}  // namespace

int main(int, char** words) {
  folder = words[2];
  auto guard = onceguard::guard::open("memory:").value();
  onceguard::http::middleware_params params;
  params.routes.front().policy.max_answer_body = 1000;
  const auto middleware = onceguard::http::middleware::make(guard, params).value();
  Pistache::Rest::Router router;
  routes::Get(router, "/runs", onceguard::pistache::guarded(middleware, count));
  const auto post = [&](const char* path, auto handler) {
    routes::Post(router, path, onceguard::pistache::guarded(middleware, std::move(handler)));
  };
  post("/whole", whole);
  // A handler that can only be moved.
  post("/packed", [own = std::make_unique<int>()](const Request& request, response_writer writer) {
    packed(request, std::move(writer));
  });
  post("/typed", typed);
  post("/stream", stream);
  post("/file", file);
  post("/long-file", long_file);
  post("/missing-file", missing_file);
  post("/another-thread", another_thread);
  post("/drop", drop);
  post("/refuses", refuses);
  post("/breaks", breaks);
  post("/fails", fails);
  post("/not-done", not_done);
  post("/try-later", try_later);

  const auto port = static_cast<std::uint16_t>(std::atoi(words[1]));
  Pistache::Http::Endpoint endpoint({Pistache::Ipv4::loopback(), port});
  endpoint.init(Pistache::Http::Endpoint::options().flags(Pistache::Tcp::Options::ReuseAddr));
  endpoint.setHandler(onceguard::pistache::handler(router.handler()));
  endpoint.serve();
}
