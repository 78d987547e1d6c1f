// A cpp-httplib server with a handler for each way of answering: httplib_answers PORT
#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include <onceguard/httplib.hpp>

#include "../../examples/httplib/reuse_address.hpp"
#include "../support/packed.hpp"

using httplib::Request;
using httplib::Response;

namespace {

std::atomic<int> runs{0};

/// Adds one to the runs; the text is the run's own.
std::string next_text() { return "run " + std::to_string(++runs); }

void whole(const Request& request, Response& response) {
  response.status = 201;
  response.set_header("Link", "<a>");
  response.set_header("Link", "<b>");
  response.set_header("Set-Cookie", "a=1");
  response.set_header("Idempotent-Replayed", "true");
  const auto attempt = request.get_header_value("Onceguard-Attempt");
  response.set_header("X-Attempt", attempt.empty() ? "none" : attempt);
  response.set_content(next_text(), "text/plain");
}

void packed(const Request& request, Response& response) {
  ++runs;
  response.set_header("Content-Encoding", "gzip");
  response.set_header("Access-Control-Allow-Origin", request.get_header_value("Origin"));
  // The server packs a text once more.
  response.set_content(std::string(onceguard::testing::packed_hello), "application/octet-stream");
}

void without_status(const Request&, Response& response) { response.body = next_text(); }
void redirect(const Request&, Response& response) { response.set_redirect("/" + next_text(), 303); }

void stream(const Request&, Response& response) {
  response.set_chunked_content_provider("text/plain", [text = next_text()](auto, auto& sink) {
    sink.write(text.data(), text.size());
    sink.done();
    return true;
  });
}

void until_end(const Request&, Response& response) {
  response.set_header("Connection", "close");
  response.set_content_provider("text/plain", [text = next_text()](auto offset, auto& sink) {
    if (offset > 0) return sink.done(), true;
    return sink.write(text.data(), text.size());
  });
}

/// In pieces of three bytes; the provider breaks off before it has given all if `size` says so.
void provide(Response& response, const std::string& text, std::size_t size) {
  response.set_content_provider(size, "text/plain", [text](auto offset, auto length, auto& sink) {
    if (offset >= text.size()) return false;
    const auto piece = text.substr(offset, length < 3 ? length : 3);
    return sink.write(piece.data(), piece.size());
  });
}
void provided(const Request&, Response& response) { provide(response, next_text(), 5); }
void broken(const Request&, Response& response) { provide(response, next_text(), 500); }
void long_provided(const Request&, Response& response) {
  provide(response, next_text() + std::string(2000, 'x'), 2005);
}

void parts(const Request& request, Response& response) {
  response.set_content(next_text() + request.get_file_value("what").content, "text/plain");
}

[[noreturn]] void fails(const Request&, Response&) { throw std::runtime_error(next_text()); }
[[noreturn]] void not_done(const Request&, Response&) { throw onceguard::not_done(next_text()); }
[[noreturn]] void try_later(const Request&, Response&) { throw onceguard::try_later(next_text()); }

}  // namespace

int main(int, char** words) {
  auto guard = onceguard::guard::open("memory:").value();
  onceguard::http::middleware_params params;
  params.routes.front().policy.max_answer_body = 1000;
  const auto middleware = onceguard::http::middleware::make(guard, params).value();
  httplib::Server server;
  server.set_keep_alive_timeout(1);
  reuse_address(server);
  server.set_default_headers({{"X-Server", "one"}});
  server.Get("/runs", [](const Request&, Response& response) {
    response.set_content(std::to_string(runs), "text/plain");
  });
  const auto post = [&](const char* path, auto handler) {
    server.Post(path, onceguard::httplib::guarded(middleware, std::move(handler)));
  };
  post("/whole", whole);
  // A handler that can only be moved.
  post("/packed", [own = std::make_unique<int>()](const Request& request, Response& response) {
    packed(request, response);
  });
  post("/without-status", without_status);
  post("/redirect", redirect);
  post("/stream", stream);
  post("/until-end", until_end);
  post("/provided", provided);
  post("/broken", broken);
  post("/long-provided", long_provided);
  post("/parts", parts);
  post("/fails", fails);
  post("/not-done", not_done);
  post("/try-later", try_later);
  return server.listen("127.0.0.1", std::atoi(words[1])) ? 0 : 1;
}
