#include "reconcile/query/query_source.hpp"

#include <optional>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "engine/held_lease.hpp"
#include "http/forwarded_fields.hpp"
#include "http/settle_by_answer.hpp"
#include "http1/message.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

/// The reason why a header field can't be sent; empty: all fields can be sent.
std::string field_fault(const answer& answer) {
  for (const auto& [name, value] : answer.headers) {
    if (!http1::is_token(name)) return "no header field can be called \"" + name + "\"";
    if (!http1::is_field_value(base::trim(value))) return "a control character in " + name;
  }
  return {};
}

/// The answer as if it had come from the upstream: without the fields that are never stored.
answer_ptr as_kept(const answer& stored_answer) {
  std::vector<base::field> fields;
  for (const auto& [name, value] : stored_answer.headers) {
    if (!http::is_reserved_field(name)) fields.push_back({name, base::trim(value)});
  }
  auto out = std::make_shared<answer>();
  out->status = stored_answer.status;
  out->body = stored_answer.body;
  http::keep_fields(fields, false, *out);
  return out;
}

}  // namespace

effect_report as_http_has_it(effect_report report) {
  if (!report.answer) return report;
  if (auto fault = field_fault(*report.answer); !fault.empty()) {
    return {effect_status::unknown, nullptr, std::move(fault)};
  }
  report.answer = as_kept(*report.answer);
  return report;
}

asio::awaitable<effect_report> query_source::ask(const subject& about, const held_lease& held) {
  co_return co_await query(about, held.lease().token);
}

asio::awaitable<effect_report> query_source::query(const subject& about, token lease_token) {
  co_return as_http_has_it(co_await thread_.ask(about.scope, about.key, lease_token));
}

asio::awaitable<std::optional<effect_report>> query_source::preview(const subject& about,
                                                                    token present) {
  if (!read_only_) co_return std::nullopt;
  co_return co_await query(about, present);
}

}  // namespace onceguard
