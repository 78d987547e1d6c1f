#include "serve/claim_bindings.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace onceguard::serve {
namespace {

std::string_view text_of(bool flag) { return flag ? "1" : "0"; }

void add(base::sha256& out, const request_call& request) {
  out.part(request.method).part(request.target).part(std::to_string(request.headers.size()));
  for (const auto& [name, value] : request.headers) out.part(name).part(value);
  out.part(request.body).part(request.client_address).part(request.client_certificate);
  out.part(text_of(request.credential_verified)).part(text_of(request.body_omitted));
}

void add(base::sha256& out, const onceguard::request& parts) {
  out.part(parts.scope_kind).part(parts.scope).part(parts.key).part(parts.fingerprint);
  out.part(parts.method).part(parts.path);
}

}  // namespace

claim_digest digest_of(const claim_call& call) {
  base::sha256 out;
  out.part(call.request ? "request" : "parts");
  if (call.request) add(out, *call.request);
  if (call.parts) add(out, *call.parts);
  out.part(text_of(call.policy_is_object)).part(call.policy).part(call.service);
  out.part(text_of(call.renewed_by_client)).part(text_of(call.into_started));
  return out.finish();
}

claim_id bound_id(const claim_id& given, const claim_digest& members) {
  base::sha256 hash;
  hash.part("onceguard claim 1").part(base::as_chars(given)).part(base::as_chars(members));
  const auto made = hash.finish();
  claim_id out{};
  std::copy_n(made.begin(), out.size(), out.begin());
  return out;
}

bool claim_bindings::bind(const claim_id& given, const claim_digest& members) {
  return known_.update(base::checksum_of(base::as_chars(given)),
                       [&members](claim_digest& known, bool found) {
                         if (!found) known = members;
                         return known == members;
                       });
}

}  // namespace onceguard::serve
