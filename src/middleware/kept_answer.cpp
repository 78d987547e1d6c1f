#include "middleware/kept_answer.hpp"

#include "base/octets.hpp"
#include "http/settle_by_answer.hpp"

namespace onceguard::http {
inline namespace v1 {

answer answer_to_keep(const answer_view& made, const route_policy& policy) {
  answer out;
  out.status = made.status;
  keep_fields(made.fields, policy.keep_set_cookie, out);
  // A repeat must be able to get it.
  std::erase_if(out.headers, [](const auto& header) {
    return !base::is_token(header.first) || !base::is_field_value(header.second);
  });
  if (policy.keep_body && made.body && !has_no_body(made.status)) out.body = *made.body;
  return out;
}

}  // namespace v1
}  // namespace onceguard::http
