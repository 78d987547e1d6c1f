// The addresses of a host, within a time.
#pragma once
#include <cstdint>
#include <netdb.h>
#include <string>

#include <onceguard/error.hpp>

#include "base/clock.hpp"
#include "base/unique_handle.hpp"

namespace onceguard::tls {

using moment = base::boot_clock::time_point;

using address_list = base::unique_handle<addrinfo, ::freeaddrinfo>;

/// At least one address. errc::broker_unreachable: there is none, or the answer did not come in
/// time.
[[nodiscard]] result<address_list> find_host(const std::string& host, std::uint16_t port,
                                             moment until);

}  // namespace onceguard::tls
