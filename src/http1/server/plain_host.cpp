#include "http1/server/plain_host.hpp"

#include <cstdint>

#include <boost/asio/ip/address.hpp>

#include "base/address.hpp"
#include "base/ascii.hpp"

namespace onceguard::http1 {

bool is_plain_host(std::string_view host) {
  const auto authority = base::parse_authority(host, std::uint16_t{80});
  if (!authority) return false;
  if (base::iequals(authority->host, "localhost")) return true;
  boost::system::error_code failed;
  boost::asio::ip::make_address(authority->host, failed);
  return !failed;
}

}  // namespace onceguard::http1
