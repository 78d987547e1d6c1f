#include "config/texts.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

namespace onceguard::config {

result<gateway::endpoint> parse_endpoint(std::string_view text) {
  auto parsed = gateway::parse_endpoint(text);
  if (parsed) return parsed;
  return error(errc::invalid_argument, parsed.error().detail + ", got " + quoted(text));
}

result<std::string> parse_network(std::string_view text) {
  const auto slash = text.find('/');
  boost::system::error_code failed;
  const auto address = boost::asio::ip::make_address(std::string(text.substr(0, slash)), failed);
  if (!failed && slash != std::string_view::npos) {
    if (address.is_v4()) {
      boost::asio::ip::make_network_v4(std::string(text), failed);
    } else {
      boost::asio::ip::make_network_v6(std::string(text), failed);
    }
  }
  if (!failed && text.find('%') == std::string_view::npos) return std::string(text);
  return error(
      errc::invalid_argument,
      "expected an address or block such as \"10.0.0.1\" or \"10.0.0.0/8\", got " + quoted(text));
}

}  // namespace onceguard::config
