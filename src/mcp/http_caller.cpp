#include "mcp/http_caller.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <onceguard/http_message.hpp>
#include <onceguard/key.hpp>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/hex.hpp"
#include "http/scope.hpp"

namespace onceguard::mcp {
namespace {

/// Fields that are another one in each session or try of the same caller: they are no marks of it.
bool changes(std::string_view name) {
  constexpr std::array<std::string_view, 3> payments{"payment-signature", "x-payment",
                                                     "last-event-id"};
  return base::iequals(name.substr(0, 4), "mcp-") ||
         std::ranges::any_of(payments, [&](auto each) { return base::iequals(name, each); });
}

void read_key(std::span<const base::field> fields, http_caller& out) {
  const auto found = onceguard::base::find_once(fields, "idempotency-key");
  if (found.times == 0 && !found.misspelt) return;
  if (found.times != 1 || found.misspelt) {
    out.key_fault = "the field Idempotency-Key must be sent once";
    return;
  }
  auto key = parse_key(found.value);
  if (key) {
    out.key = std::move(*key);
  } else {
    out.key_fault = "the field Idempotency-Key is malformed: " + key.error().detail;
  }
}

}  // namespace

http_caller find_caller(const http_request& request, const route_policy& policy,
                        std::string_view client_address) {
  std::vector<base::field> fields;
  for (const auto& [name, value] : request.fields) {
    if (!changes(name)) fields.push_back({name, value});
  }
  http_caller out;
  read_key(fields, out);
  onceguard::http::request question;
  question.method = "POST";
  question.target = request.target;
  question.fields = fields;
  question.client_address = client_address;
  onceguard::http::scope_memo last;
  auto found = onceguard::http::find_scope(policy, policy.scope, question, last);
  if (!found.match) {
    out.scope_fault = std::move(found.why);
    return out;
  }
  out.scope = '\n' + found.match->scope_kind + '\n' + base::to_hex(found.match->scope);
  for (const auto& mark : found.match->more) {
    out.marks += '\n' + std::to_string(mark.size()) + ':' + mark;
  }
  return out;
}

}  // namespace onceguard::mcp
