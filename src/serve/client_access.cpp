#include "serve/client_access.hpp"

#include <array>
#include <utility>

#include "base/field.hpp"
#include "http1/server/plain_host.hpp"
#include "serve/decisions.hpp"

namespace onceguard::serve {

namespace {

constexpr std::array<std::string_view, 1> roles{"client"};

}  // namespace

client_access::client_access(const serve_params& params)
    : token_file_(params.token_file),
      local_socket_(params.listen.is_socket()),
      problem_base_(params.problem_base) {}

result<client_access::tokens> client_access::read() const {
  if (token_file_.empty()) return tokens();
  auto held = http1::token_file::read(token_file_, {"[serve] token_file", roles});
  if (!held) return held.error();
  return std::make_shared<const http1::token_file>(*std::move(held));
}

void client_access::set(tokens read) {
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(read);
}

std::optional<reply_message> client_access::refusal(const http1::head& head) const {
  const auto refuse = [&](std::string_view why) {
    return service_problem(problem_base_, 401, "unauthorized", "The caller is no client", why,
                           milliseconds(-1));
  };
  tokens known;
  {
    const std::lock_guard lock(mutex_);
    known = tokens_;
  }
  if (known) {
    const auto* const shown = base::find_field(head.fields, "authorization");
    if (shown == nullptr) return refuse("A token is needed: Authorization: Bearer TOKEN.");
    if (known->find(shown->value) == nullptr) return refuse("The token is not known.");
    return std::nullopt;
  }
  if (local_socket_) return std::nullopt;
  const auto* const host = base::find_field(head.fields, "host");
  if (host != nullptr && !http1::is_plain_host(host->value)) {
    return refuse("Without tokens, the host must be an address or \"localhost\".");
  }
  return std::nullopt;
}

}  // namespace onceguard::serve
