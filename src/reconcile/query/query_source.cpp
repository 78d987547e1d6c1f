#include "reconcile/query/query_source.hpp"

#include <algorithm>

#include "base/field.hpp"
#include "engine/held_lease.hpp"
#include "http/forwarding.hpp"
#include "http/outcome.hpp"
#include "http1/message.hpp"

namespace onceguard::cli {

namespace asio = boost::asio;
using postgres::queried;

namespace {

postgres::outcome_query_params params_of(const config::settings& settings, bool read_only) {
  postgres::outcome_query_params out;
  out.url = settings.query.database.empty() ? settings.store.url : settings.query.database;
  out.query = settings.query.text;
  out.read_only = read_only;
  return out;
}

/// Why a header field can't be sent; empty: all can.
std::string field_fault(const answer& answer) {
  for (const auto& [name, value] : answer.headers) {
    if (!http1::is_token(name)) return "no header field can be called \"" + name + "\"";
    if (!http1::is_field_value(base::trim(value))) return "a control character in " + name;
  }
  return {};
}

/// As if it had come from the upstream: without what never is stored.
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

probe_report report_of(postgres::queried_outcome outcome, bool absent_is_none) {
  probe_report out;
  switch (outcome.said) {
    case queried::done:
      if (outcome.answer) {
        out.why = field_fault(*outcome.answer);
        if (!out.why.empty()) return out;
        out.answer = as_kept(*outcome.answer);
      }
      out.said = probe_answer::did;
      break;
    case queried::none:
      out.said = probe_answer::did_not;
      break;
    case queried::no_row:
      if (absent_is_none) {
        out.said = probe_answer::did_not;
      } else {
        out.why = "no row";
      }
      break;
    case queried::unknown:
      out.why = std::move(outcome.why);
      break;
  }
  return out;
}

query_source::query_source(const config::settings& settings, bool read_only)
    : absent_is_none_(settings.query.absent_is_none),
      read_only_(read_only),
      thread_(params_of(settings, read_only)) {}

asio::awaitable<result<void>> query_source::prepare() { return thread_.open(); }

asio::awaitable<probe_report> query_source::ask(const subject& about, const held_lease& held) {
  co_return co_await query(about, held.lease().token);
}

asio::awaitable<probe_report> query_source::query(const subject& about, token lease_token) {
  auto reply = co_await thread_.ask(about.scope, about.key, lease_token);
  co_return report_of(std::move(reply), absent_is_none_);
}

asio::awaitable<std::optional<probe_report>> query_source::preview(const subject& about,
                                                                   token standing) {
  if (!read_only_) co_return std::nullopt;
  co_return co_await query(about, standing);
}

std::unique_ptr<query_source> make_query_source(const config::settings& settings, bool read_only) {
  if (settings.query.text.empty()) return nullptr;
  return std::make_unique<query_source>(settings, read_only);
}

}  // namespace onceguard::cli
