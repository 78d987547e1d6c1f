// What clients ask for, read from their messages.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/request.hpp>

#include "serve/protocol_message.hpp"

namespace onceguard::serve {

/// An operation as a request.
struct request_call {
  std::string method;
  std::string target;
  header_list headers;
  std::string body;
  std::string client_address;
  std::string client_certificate;
  bool credential_verified = false;
  bool body_omitted = false;  ///< it is longer than what the client holds
};

struct claim_call {
  std::optional<request_call> request;  ///< one of these two
  std::optional<onceguard::request> parts;
  std::string policy;  ///< a name, or the text of an object; empty: none
  bool policy_is_object = false;
  std::string service;  ///< empty: that of the route
  std::optional<claim_id> claim;
  std::optional<milliseconds> wait;
  bool renewed_by_client = false;
  bool into_started = false;
};

enum class ending : std::uint8_t {
  complete,
  fail,
  release,
  abandon,
  exception,
  dispatch,
  renew,
};
[[nodiscard]] std::optional<ending> ending_of(std::string_view name);

struct settle_call {
  ending kind = ending::complete;
  std::optional<answer> made;  ///< complete
  bool has_body = true;        ///< of `made`; false: it is not at hand as a whole
  std::optional<milliseconds> backoff;
};

/// errc::invalid_argument names the member.
[[nodiscard]] result<claim_call> read_claim(message given);
[[nodiscard]] result<settle_call> read_settle(ending kind, message given);

}  // namespace onceguard::serve
