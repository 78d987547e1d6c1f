// An id that the client makes: what is sent twice is the same thing twice.
#include <onceguard/key.hpp>
#include <onceguard/precondition.hpp>

#include "resources.hpp"

namespace patterns {

namespace http = onceguard::http;

void create_things(database& shop) {
  shop.run({"CREATE TABLE IF NOT EXISTS things (id text PRIMARY KEY, body text NOT NULL)"});
  shop.run({std::string("CREATE TABLE IF NOT EXISTS numbered_things (id ") + shop.identity() +
            ", body text NOT NULL)"});
}

response handle_thing(database& shop, const request& message, const std::string& id) {
  if (!onceguard::is_uuid(id)) return {400, {}, "the id of a thing is a UUID\n"};
  const auto tag = http::make_etag(1);  // it never changes
  if (message.method != "PUT") {
    const auto found = shop.run({"SELECT body FROM things WHERE id = $1", {id}});
    if (found.empty()) return {404, {}, ""};
    const auto status = http::status_of(http::evaluate(message, tag));
    return {status, {{"ETag", tag.text()}}, status == 200 ? *found[0][0] : ""};
  }
  const auto done = shop.insert_once(
      "INSERT INTO things (id, body) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING body",
      "SELECT body FROM things WHERE id = $1", {id, std::string(message.body)});
  response out{201, {{"ETag", tag.text()}}, *done.columns[0]};
  if (done.made) return out;
  const auto allowed = http::status_of(http::evaluate(message, tag));
  out.status = allowed != 200 ? allowed : done.columns[0] == message.body ? 200 : 409;
  if (out.status != 200) out.body = "there is a thing with this id\n";
  return out;
}

response make_thing_naively(database& shop, const request& message) {
  const auto made = shop.run(
      {"INSERT INTO numbered_things (body) VALUES ($1) RETURNING id", {std::string(message.body)}});
  return {201, {{"Location", "/numbered-things/" + *made[0][0]}}, ""};
}

}  // namespace patterns
