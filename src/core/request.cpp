#include "core/request.hpp"

#include <memory>

#include <onceguard/fingerprint.hpp>
#include <onceguard/key.hpp>

#include "base/hash.hpp"

namespace onceguard {

namespace {

// The name that onceguard.claim in SQL gives to the fingerprint that an application makes.
constexpr const char* print_method = "application";

}  // namespace

std::optional<error> complaint(const request& request) {
  if (request.key.empty() || request.key.size() > key_size_max) {
    return error(errc::invalid_argument, "request: a key has 1 to 255 bytes");
  }
  return std::nullopt;
}

subject_ptr subject_of(const request& request) {
  auto about = std::make_shared<subject>();
  about->scope = make_scope_digest(request.scope_kind, request.scope);
  about->scope_kind = request.scope_kind;
  about->key = request.key;
  about->print.method = print_method;
  about->print.value = base::sha256_of(request.fingerprint);
  return about;
}

}  // namespace onceguard
