#include "http1/method.hpp"

#include <algorithm>
#include <array>

#include <llhttp.h>

namespace onceguard::http1 {

bool is_known_method(std::string_view method) noexcept {
#define ONCEGUARD_METHOD(number, name, text) std::string_view(#text),
  constexpr std::array all{HTTP_METHOD_MAP(ONCEGUARD_METHOD)};
#undef ONCEGUARD_METHOD
  // SOURCE belongs to Icecast; CONNECT opens a tunnel to any host.
  if (method == "SOURCE" || method == "CONNECT") return false;
  return std::find(all.begin(), all.end(), method) != all.end();
}

}  // namespace onceguard::http1
