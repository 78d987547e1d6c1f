// Any bytes as a token, and as a set of keys: refused with a reason, and never accepted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/base64.hpp"
#include "jwt/token.hpp"

namespace {

using namespace onceguard;

void require(bool holds) {
  if (!holds) std::abort();
}

const std::vector<jwt::key>& known_keys() {
  static const auto keys = *jwt::read_key_set(
      R"({"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
      R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},)"
      R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},)"
      R"({"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0i"}]})");
  return keys;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  // Nobody has signed it, unless the fuzzer breaks a signature.
  const auto read = jwt::verify(text, "sub", known_keys(), {}, 1'000);
  require(!read && read.error().code == errc::invalid_argument && !read.error().detail.empty());
  if (auto keys = jwt::read_key_set(text)) {
    require(!keys->empty());
    require(!jwt::verify(text, "sub", *keys, {}, 1'000));
  }
  const auto decoded = base::from_base64url(text);
  if (decoded) require(decoded->size() == text.size() * 3 / 4);
  return 0;
}
