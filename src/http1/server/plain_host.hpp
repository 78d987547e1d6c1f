// Whether a listener without tokens may trust that no web page sends a request.
#pragma once
#include <string_view>

namespace onceguard::http1 {

/// Whether a browser would send this Host for a name that somebody else's page has taken over (DNS
/// rebinding): without tokens the address alone must not be enough. True: an address, or
/// "localhost".
[[nodiscard]] bool is_plain_host(std::string_view host);

}  // namespace onceguard::http1
