#include "core/request.hpp"

#include <memory>

#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

#include "base/hash.hpp"
#include "core/kept_key.hpp"
#include "core/request_names.hpp"

namespace onceguard {

std::optional<error> complaint(const request& request) {
  if (request.key.empty() || request.key.size() > key_size_max) {
    return error(errc::invalid_argument, "request: a key has 1 to 255 bytes");
  }
  if (request.scope_kind == core::mark_scope_kind) {
    return error(errc::invalid_argument, "request: this kind of scope is Onceguard's own");
  }
  return std::nullopt;
}

namespace {

struct last_scope {
  static constexpr std::size_t size_max = 512;  // a thread must not hold much memory

  std::string kind;
  std::string scope;
  digest made{};
};

digest scope_digest_of(const request& request) {
  // The calls of one thread mostly have one scope, and a comparison is cheaper than a SHA-256.
  thread_local last_scope last;
  const bool known =
      !last.kind.empty() && last.scope == request.scope && last.kind == request.scope_kind;
  if (known) return last.made;
  const auto made = make_scope_digest(request.scope_kind, request.scope);
  if (request.scope.size() + request.scope_kind.size() <= last_scope::size_max) {
    last = {request.scope_kind, request.scope, made};
  }
  return made;
}

}  // namespace

request_digests digests_of(const request& request) {
  request_digests out;
  out.scope = scope_digest_of(request);
  out.id = make_record_id(out.scope, core::kept_key(request.key));
  out.print.method = core::application_print;
  out.print.value = base::sha256_of(request.fingerprint);
  return out;
}

subject_ptr subject_of(const request& request, const request_digests& digests) {
  auto about = std::make_shared<subject>();
  about->scope = digests.scope;
  about->scope_kind = request.scope_kind;
  about->key = core::kept_key(request.key);
  about->method = request.method;
  about->path = request.path;
  about->print = digests.print;
  return about;
}

}  // namespace onceguard
