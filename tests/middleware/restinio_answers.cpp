// A RESTinio server with a handler for each way of answering: restinio_answers PORT FILE, where
// FILE is sent by the handlers that send files.
#include <atomic>
#include <cstdlib>
#include <map>
#include <restinio/all.hpp>
#include <restinio/websocket/websocket.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include <onceguard/restinio.hpp>

#include "../support/packed.hpp"

using restinio::request_handle_t;
using status = restinio::request_handling_status_t;
using chunked = restinio::response_builder_t<restinio::chunked_output_t>;

namespace {

std::atomic<int> runs{0};
const char* file = nullptr;
boost::asio::thread_pool others(1);  // answers later

/// Adds one to the runs; the text is the run's own.
std::string next_text() { return "run " + std::to_string(++runs); }

status whole(const request_handle_t& request) {
  return request->create_response(restinio::status_created())
      .append_header("Content-Type", "text/plain")
      .append_header("Link", "<a>")
      .append_header("Link", "<b>")
      .append_header("Set-Cookie", "a=1")
      .append_header("X-Server", "one")
      .append_header("idempotent-replayed", "true")
      .append_header("X-Attempt", request->header().get_field_or("Onceguard-Attempt", "none"))
      .set_body("run ")
      .append_body(std::to_string(++runs))
      .done();
}

status packed(const request_handle_t& request) {
  ++runs;
  return request->create_response()
      .append_header("Content-Encoding", "gzip")
      .append_header("Access-Control-Allow-Origin", request->header().get_field_or("Origin", ""))
      .set_body(std::string(onceguard::testing::packed_hello))
      .done();
}

status answer(const request_handle_t& request, std::string text) {
  return request->create_response().set_body(std::move(text)).done();
}

status long_text(const request_handle_t& request) {
  return answer(request, next_text() + std::string(2000, 'x'));
}

/// A chunk at a time, the next one when the last one is written.
void add_chunk(std::shared_ptr<chunked> out, std::string text) {
  if (text.empty()) return static_cast<void>(out->done());
  out->append_chunk(text.substr(0, 1)).flush([out, rest = text.substr(1)](const auto& failed) {
    if (!failed) add_chunk(out, rest);
  });
}

status stream(const request_handle_t& request) {
  auto out = request->create_response<restinio::chunked_output_t>();
  add_chunk(std::make_shared<chunked>(std::move(out)), next_text());
  return restinio::request_accepted();
}

/// Of a known length, in two parts.
status parts(const request_handle_t& request) {
  const auto text = next_text();
  auto out = request->create_response<restinio::user_controlled_output_t>();
  out.set_content_length(text.size()).set_body(text.substr(0, 2)).flush();
  return out.set_body(text.substr(2)).done();
}

/// Of a known length, in one part.
status one_part(const request_handle_t& request) {
  const auto text = next_text();
  auto out = request->create_response<restinio::user_controlled_output_t>();
  return out.set_content_length(text.size()).set_body(text).done();
}

status send_file(const request_handle_t& request) {
  return request->create_response()
      .set_body(next_text())
      .append_body(restinio::sendfile(file).offset_and_size(1, 3))
      .done();
}

status long_file(const request_handle_t& request) {
  return request->create_response()
      .set_body(next_text())
      .append_body(restinio::sendfile(file))
      .done();
}

status later(const request_handle_t& request) {
  boost::asio::post(others, [request] { answer(request, next_text()); });
  return restinio::request_accepted();
}

status later_stream(const request_handle_t& request) {
  boost::asio::post(others, [request] { stream(request); });
  return restinio::request_accepted();
}

status dropped(const request_handle_t&) {
  ++runs;
  return restinio::request_accepted();
}

status rejected(const request_handle_t&) {
  ++runs;
  return restinio::request_rejected();
}

status fails(const request_handle_t&) { throw std::runtime_error(next_text()); }
status not_done(const request_handle_t&) { throw onceguard::not_done(next_text()); }
status try_later(const request_handle_t&) { throw onceguard::try_later(next_text()); }

status answers_and_fails(const request_handle_t& request) {
  answer(request, next_text());
  throw std::runtime_error("after the answer");
}

status upgrade(const request_handle_t& request) {
  namespace rws = restinio::websocket::basic;
  static rws::ws_handle_t opened;
  opened = rws::upgrade<restinio::default_traits_t>(*request, rws::activation_t::immediate,
                                                    [](const auto&, const auto&) {});
  return restinio::request_accepted();
}

status handle(const request_handle_t& request, onceguard::http::exchange& running) {
  static const std::map<std::string_view, status (*)(const request_handle_t&)> handlers{
      {"/websocket", upgrade},   {"/whole", whole},
      {"/long", long_text},      {"/stream", stream},
      {"/parts", parts},         {"/one-part", one_part},
      {"/file", send_file},      {"/long-file", long_file},
      {"/later", later},         {"/later-stream", later_stream},
      {"/dropped", dropped},     {"/rejected", rejected},
      {"/fails", fails},         {"/not-done", not_done},
      {"/try-later", try_later}, {"/answers-and-fails", answers_and_fails},
      {"/packed", packed}};
  const auto& target = request->header().request_target();
  if (target == "/runs") return answer(request, std::to_string(runs));
  if (target == "/lease") {
    ++runs;
    return answer(request, running.lease().may_go_on() ? "held" : "lost");
  }
  return handlers.at(target)(request);
}

}  // namespace

int main(int, char** words) {
  file = words[2];
  auto guard = onceguard::guard::open("memory:").value();
  onceguard::http::middleware_params params;
  params.routes.front().policy.max_answer_body = 1000;
  const auto middleware = onceguard::http::middleware::make(guard, params).value();
  boost::asio::thread_pool workers(4);
  restinio::run(restinio::on_thread_pool(2)
                    .address("127.0.0.1")
                    .port(static_cast<std::uint16_t>(std::atoi(words[1])))
                    .request_handler(
                        onceguard::restinio::guarded(middleware, workers.get_executor(), handle)));
}
