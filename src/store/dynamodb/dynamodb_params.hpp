// What the URL of a DynamoDB store says, and the store's parameters.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "aws/signed_request.hpp"
#include "base/clock.hpp"

namespace onceguard::dynamodb {

inline constexpr std::string_view url_example = "dynamodb://REGION/TABLE";

/// `dynamodb://REGION/TABLE[?endpoint=http://HOST:PORT]`. Credentials have no part in it: see
/// aws/credential_source.hpp.
struct address {
  std::string region;
  std::string table;
  std::string endpoint;  ///< without a path

  /// "dynamodb://REGION/TABLE", for people.
  [[nodiscard]] std::string name() const { return "dynamodb://" + region + '/' + table; }
  [[nodiscard]] aws::service service() const {
    return {endpoint, region, "dynamodb", "DynamoDB_20120810."};
  }
};

/// errc::invalid_argument describes the fault, without repeating the URL.
[[nodiscard]] result<address> parse_address(std::string_view url);

struct dynamodb_params {
  std::string url;
  milliseconds timeout{2'000};  ///< also bounds the opening
  std::size_t connections = 4;  ///< each stands for `requests_per_connection` requests at once
  const base::clock* clock = &base::system_clock();
  /// Added to each retention: the wall clocks of two processes may be so far apart. Twice the
  /// difference at which the service refuses signatures.
  milliseconds retention_margin{30 * 60'000};
  /// An answer that is larger, in bytes as it is stored, is kept in pieces of about this size. An
  /// item has 400 KB at most, with all of its attributes.
  std::size_t piece_size = 350'000;
  /// A list is ordered within so many pages of a scan, of a megabyte each.
  int pages_in_order = 16;
};

/// HTTP/1.1 carries one request on a connection.
inline constexpr std::size_t requests_per_connection = 16;

}  // namespace onceguard::dynamodb
