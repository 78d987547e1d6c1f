#include "cli/services/explain_resource.hpp"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"
#include "cli/services/effective_config.hpp"
#include "cli/trial/explained_record.hpp"
#include "cli/trial/explanation.hpp"
#include "http1/message.hpp"
#include "http1/start_line.hpp"
#include "text/record_json.hpp"

namespace onceguard::cli::services {

using boost::asio::awaitable;
using reader = base::json_reader<nlohmann::json>;

namespace {

trial::described_request read_described_request(const reader& object) {
  object.has_only({"method", "url", "headers", "body", "client"});
  trial::described_request out;
  const auto method = object.at("method");
  out.method = method.text();
  if (!http1::is_known_method(out.method)) method.refuse("the gateway answers 501 to this method");
  if (const auto headers = object.find("headers")) {
    headers->each([&](const reader& pair) {
      auto [name, value] = pair.pair();
      if (!http1::is_token(name)) pair.refuse("the name is no token");
      if (!http1::is_field_value(value)) pair.refuse("the value has control characters");
      out.fields.emplace_back(std::move(name), std::move(value));
    });
  }
  object.take("body", out.body);
  object.take("client", out.client_address);
  const auto url = object.at("url");
  const auto text = url.text();
  if (!text.starts_with('/') && !text.starts_with("http://") && !text.starts_with("https://")) {
    url.refuse("a path, or a URL with http:// or https:// was expected");
  }
  if (!http1::is_field_value(text) || text.find(' ') != text.npos) {
    url.refuse("has spaces or control characters");
  }
  trial::set_url(out, text);
  return out;
}

awaitable<admin::response> explain_request(config::settings settings, store& records,
                                           const admin::request& wanted) {
  const auto request =
      base::read_json<nlohmann::json>(wanted.body, "the body", read_described_request);
  if (!request) co_return admin::refusal(422, request.error().detail);
  auto reply = trial::explain(settings, *request);
  trial::explained_record seen;
  if (reply.kind == trial::explanation::effect::guard) {
    seen = co_await trial::find_explained(settings, *request, records, reply);
  }
  auto body = trial::explanation_json(reply, seen.current, seen.same_request, seen.note);
  const auto end = trial::end_of(reply, seen);
  body["observed"] = reply.observed;
  body["verdict"] = end.verdict;
  if (end.retry_after.count() > 0) body["retry_after_ms"] = end.retry_after.count();
  admin::response out;
  out.body = json_line(body);
  co_return out;
}

}  // namespace

admin::resources explain_resources(std::function<config::settings()> settings, store& records) {
  admin::resources out;
  out.push_back({"GET", "/api/routes", admin::access::view,
                 [settings](const admin::request&) -> awaitable<admin::response> {
                   admin::response all;
                   all.body = effective_routes(settings());
                   co_return all;
                 }});
  out.push_back({"POST", "/api/explain", admin::access::view,
                 [settings, &records](const admin::request& wanted) {
                   return explain_request(settings(), records, wanted);
                 }});
  return out;
}

}  // namespace onceguard::cli::services
