// Optimistic locking: a change takes effect only on the version that its client has seen. A removed
// document keeps its row and goes on counting, so that no version comes twice.
#include <onceguard/precondition.hpp>

#include "resources.hpp"

namespace patterns {
namespace {

namespace http = onceguard::http;

std::optional<row> find(database& shop, const std::string& name) {
  auto found = shop.run(
      {"SELECT version, body FROM documents WHERE name = $1 AND body IS NOT NULL", {name}});
  if (found.empty()) return std::nullopt;
  return std::move(found[0]);
}

/// Writes the body (none: removes the document) if the version is the expected one.
std::optional<std::int64_t> store(database& shop, const std::string& name, const sql_value& body,
                                  std::optional<std::int64_t> expected) {
  const auto done =
      expected
          ? shop.run({"UPDATE documents SET body = $2, version = version + 1"
                      " WHERE name = $1 AND version = $3 AND body IS NOT NULL RETURNING version",
                      {name, body, std::to_string(*expected)}})
          : shop.run({"INSERT INTO documents (name, body, version) VALUES ($1, $2, 1)"
                      " ON CONFLICT (name) DO UPDATE SET body = excluded.body,"
                      " version = documents.version + 1 WHERE documents.body IS NULL"
                      " RETURNING version",
                      {name, body}});
  if (done.empty()) return std::nullopt;
  return std::stoll(*done[0][0]);
}

response get(database& shop, const request& message, const std::string& name) {
  const auto found = find(shop, name);
  if (!found) return {404, {}, ""};
  const auto tag = http::make_etag(std::stoll(*found->at(0)));
  const auto status = http::status_of(http::evaluate(message, tag));
  return {status, {{"ETag", tag.text()}}, status == 200 ? *found->at(1) : ""};
}

const char* advice_of(http::change_kind kind) {
  switch (kind) {
    case http::change_kind::failed:
      return "somebody has changed it: read it again\n";
    case http::change_kind::required:
      return "send If-Match with the ETag that you have seen, or If-None-Match: *\n";
    case http::change_kind::malformed:
      return "If-Match and If-None-Match are lists of entity tags in quotes\n";
    default:
      return "";
  }
}

/// `body` none: the document is to be removed.
response change(database& shop, const request& message, const std::string& name,
                const sql_value& body) {
  const auto done =
      http::change(message,
                   {.load =
                        [&] {
                          const auto now = find(shop, name);
                          if (!now) return http::current_version{std::nullopt, !body};
                          return http::current_version{std::stoll(*now->at(0)), now->at(1) == body};
                        },
                    .store = [&](auto expected) { return store(shop, name, body, expected); }},
                   {.required = true, .creates = body.has_value()});
  response out{http::status_of(done.kind), {}, advice_of(done.kind)};
  if (out.status == 200 && !body) out.status = 204;
  if (out.status == 200 || out.status == 201) out.body = *body;
  if (out.status == 503) out.headers.emplace_back("Retry-After", "1");
  if (done.version && out.status != 204) {
    out.headers.emplace_back("ETag", http::make_etag(*done.version).text());
  }
  return out;
}

/// The last one who writes wins, whatever was written since it was read.
response change_naively(database& shop, const std::string& name, const sql_value& body) {
  shop.run(
      {"INSERT INTO documents (name, body, version) VALUES ($1, $2, 1)"
       " ON CONFLICT (name) DO UPDATE SET body = excluded.body,"
       " version = documents.version + 1",
       {name, body}});
  return {200, {}, body.value_or("")};
}

}  // namespace

void create_documents(database& shop) {
  shop.run(
      {"CREATE TABLE IF NOT EXISTS documents"
       " (name text PRIMARY KEY, body text, version bigint NOT NULL)"});
}

response handle_document(database& shop, const request& message, const std::string& name,
                         bool naive) {
  const bool puts = message.method == "PUT";
  if (!puts && message.method != "DELETE") return get(shop, message, name);
  const auto body = puts ? sql_value(message.body) : sql_value();
  return naive ? change_naively(shop, name, body) : change(shop, message, name, body);
}

}  // namespace patterns
