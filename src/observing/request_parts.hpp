// Cuts an observed request into the parts in which two tries of it may differ.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/http_message.hpp>

namespace onceguard::observing {

/// What a part says can't be read from its value: only a hash of it is kept.
struct request_part {
  std::string name;  ///< "header:authorization", "json:/sent_at"
  std::uint64_t value = 0;
};

struct request_parts {
  std::vector<request_part> fields;   ///< header fields that may tell callers or work apart
  std::vector<request_part> members;  ///< of a JSON body, nested ones by their JSON Pointer
  std::uint64_t body = 0;
};

/// The beginning of the path, as far as it holds no id: "/orders" of "/orders/17/items". Requests
/// with one beginning are one kind of work.
[[nodiscard]] std::string path_beginning(std::string_view target);

/// As many as are useful; more are left out.
[[nodiscard]] request_parts parts_of(const http::request& request);

/// How the service may know the caller: "Authorization: Bearer", "Cookie: sid", "X-User".
[[nodiscard]] std::vector<std::string> callers_of(const http::request& request);

/// Whether a cookie of this name is that of a session, and so the same at each try. One against
/// forged requests (csrftoken) is not, nor that of a balancer.
[[nodiscard]] bool names_a_session(std::string_view cookie);

}  // namespace onceguard::observing
