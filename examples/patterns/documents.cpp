// Optimistic locking: a change takes effect only on the version that its client has seen. A removed
// document keeps its row and goes on counting, so that no version comes twice.
#include <onceguard/precondition.hpp>

#include "resources.hpp"

namespace patterns {
namespace {

namespace http = onceguard::http;

/// A change: the body (none: the document is to be removed), and by which it is known again.
struct change_request {
  sql_value body;
  sql_value id;  ///< none: its repeat looks like somebody else's change
};

sql_value id_of(const request& message) {
  for (const auto& field : message.fields) {
    if (field.name == "Idempotency-Key" && !field.value.empty()) return std::string(field.value);
  }
  return std::nullopt;
}

std::optional<row> find(database& shop, const std::string& name) {
  auto found =
      shop.run({"SELECT version, body, changed_by FROM documents"
                " WHERE name = $1 AND body IS NOT NULL",
                {name}});
  if (found.empty()) return std::nullopt;
  return std::move(found[0]);
}

/// Makes the change if the version is the expected one.
std::optional<std::int64_t> store(database& shop, const std::string& name,
                                  const change_request& wanted,
                                  std::optional<std::int64_t> expected) {
  const auto done =
      expected
          ? shop.run({"UPDATE documents SET body = $2, changed_by = $3, version = version + 1"
                      " WHERE name = $1 AND version = $4 AND body IS NOT NULL RETURNING version",
                      {name, wanted.body, wanted.id, std::to_string(*expected)}})
          : shop.run({"INSERT INTO documents (name, body, changed_by, version)"
                      " VALUES ($1, $2, $3, 1)"
                      " ON CONFLICT (name) DO UPDATE SET body = excluded.body,"
                      " changed_by = excluded.changed_by, version = documents.version + 1"
                      " WHERE documents.body IS NULL RETURNING version",
                      {name, wanted.body, wanted.id}});
  if (done.empty()) return std::nullopt;
  return std::stoll(*done[0][0]);
}

/// Equal bodies are no proof: of two clients who both make 1 of 0, one would lose an addition.
bool is_made_by(const row& found, const change_request& wanted) {
  return wanted.id && found[2] == wanted.id && found[1] == wanted.body;
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

response change(database& shop, const request& message, const std::string& name,
                const sql_value& body) {
  const change_request wanted{body, id_of(message)};
  const auto done = http::change(
      message,
      {.load =
           [&] {
             const auto now = find(shop, name);
             if (!now) return http::current_version{std::nullopt, !body};
             return http::current_version{std::stoll(*now->at(0)), is_made_by(*now, wanted)};
           },
       .store = [&](auto expected) { return store(shop, name, wanted, expected); }},
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
       " (name text PRIMARY KEY, body text, changed_by text, version bigint NOT NULL)"});
}

response handle_document(database& shop, const request& message, const std::string& name,
                         bool naive) {
  const bool puts = message.method == "PUT";
  if (!puts && message.method != "DELETE") return get(shop, message, name);
  const auto body = puts ? sql_value(message.body) : sql_value();
  return naive ? change_naively(shop, name, body) : change(shop, message, name, body);
}

}  // namespace patterns
