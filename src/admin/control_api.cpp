#include "admin/control_api.hpp"

#include <nlohmann/json.hpp>

#include "text/record_json.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;
using nlohmann::ordered_json;

namespace {

asio::awaitable<response> reload(program& program, const request& request) {
  const auto done = co_await program.reload(request.sender.name);
  ordered_json body;
  body["reloaded"] = done.faults.empty();
  body["faults"] = done.faults;
  body["restart_needed"] = done.restart_needed;
  response out;
  out.status = done.faults.empty() ? 200 : 422;
  out.body = json_line(body);
  co_return out;
}

}  // namespace

resources control_resources(program& program, const observing::observation& observed) {
  resources out;
  out.push_back({"GET", "/api/report", access::view,
                 [&observed](const request&) -> asio::awaitable<response> {
                   response counts;
                   counts.body = observed.json();
                   co_return counts;
                 }});
  out.push_back(
      {"GET", "/api/openapi.json", access::view, [](const request&) -> asio::awaitable<response> {
         response document;
         document.body = openapi_document();
         co_return document;
       }});
  out.push_back(
      {"GET", "/api/config", access::view, [&program](const request&) -> asio::awaitable<response> {
         response effective;
         effective.body = program.configuration();
         co_return effective;
       }});
  out.push_back({"POST", "/api/reload", access::act,
                 [&program](const request& wanted) { return reload(program, wanted); }});
  return out;
}

}  // namespace onceguard::admin
