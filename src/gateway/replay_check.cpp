#include "gateway/replay_check.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/log.hpp"
#include "gateway/message_heads.hpp"
#include "gateway/upstream_call.hpp"
#include "http/settle_by_answer.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

constexpr milliseconds check_time_max{10'000};

bool is_key_of(const route_policy& policy, std::string_view name) {
  return base::same_name(name, "idempotency-key") ||
         std::any_of(policy.key.begin(), policy.key.end(), [&](const key_source& source) {
           return source.location == key_location::header && base::same_name(source.header, name);
         });
}

/// Conditions would turn a 200 into a 304 or a 206, and there is no body to speak of.
bool concerns_the_work(std::string_view name) noexcept {
  return base::iequals(name.substr(0, 3), "if-") || base::same_name(name, "range") ||
         base::same_name(name, "content-length") || base::same_name(name, "expect");
}

std::string question_of(session& session) {
  const auto& head = session.reader().head();
  const auto& policy = session.rule().rule.policy;
  auto changed = head;
  changed.method = "GET";
  changed.target = policy.replay_check;
  std::vector<base::field> fields(head.fields.begin(), head.fields.end());
  std::erase_if(fields, [&](const base::field& f) {
    return is_key_of(policy, f.name) || concerns_the_work(f.name);
  });
  changed.fields = fields;
  const http::travel_filter filter(changed.fields, policy);
  std::string out;
  append_upstream_head(out, changed, *session.rule().upstream, filter, session.hop(), false);
  http1::append_field(out, "Onceguard-Method", head.method);
  http1::append_field(out, "Onceguard-Target", head.target);
  http1::append_end_of_head(out);
  return out;
}

replay_ruling unknown_right(const session& session, const std::string& why) {
  base::log(base::event::upstream_broken,
            {{"upstream", session.rule().upstream->name}, {"why", "replay_check: " + why}});
  return {};
}

replay_ruling ruling_of(const session& session, const http1::head& head, call_result result) {
  replay_ruling out;
  if (head.status >= 200 && head.status < 300) {
    out.right = replay_right::granted;
    return out;
  }
  if (head.status != 401 && head.status != 403) {
    return unknown_right(session, "it answered " + std::to_string(head.status));
  }
  out.right = replay_right::denied;
  auto denial = std::make_shared<answer>();
  denial->status = head.status;
  http::keep_fields(head.fields, true, *denial);
  if (result.end == call_end::answered) denial->body = std::move(result.body);
  out.denial = std::move(denial);
  return out;
}

}  // namespace

asio::awaitable<replay_ruling> check_replay(session& session) {
  auto& pool = session.thread().pool;
  const auto& address = session.rule().upstream->address;
  const auto& policy = session.rule().rule.policy;
  call_limits limits;
  limits.upstream_timeout = std::min(policy.upstream_timeout, check_time_max);
  limits.write_timeout = limits.upstream_timeout;
  limits.max_answer_body = policy.max_answer_body;
  auto up = pool.take_kept(address, false);
  const bool kept = up != nullptr;
  for (bool fresh = !kept;; fresh = true) {
    if (fresh) {
      auto connection = co_await pool.connect_onward(address);
      if (!connection) co_return unknown_right(session, connection.error().detail);
      up = std::move(*connection);
    }
    up->reader.answers_to("GET");
    byte_reservation room(session.thread().shared.budget);
    auto result = co_await call_upstream(*up, question_of(session), std::string_view(), limits,
                                         nullptr, room);
    const bool broken = result.end == call_end::broken || result.end == call_end::not_sent;
    if (broken) pool.broke(*up);
    if (broken && !fresh) continue;  // a question has no effect, so it may be asked again
    // The ruling is in the head: a long body, or one that the end of the connection delimits, is as
    // good.
    if (result.end != call_end::answered && result.end != call_end::too_large) {
      co_return unknown_right(session, result.why.empty() ? "no answer in time" : result.why);
    }
    const bool keep = result.end == call_end::answered && result.request_sent;
    auto out = ruling_of(session, up->reader.head(), std::move(result));
    if (keep && up->reader.head().keep_alive) pool.keep(std::move(up));
    co_return out;
  }
}

}  // namespace onceguard::gateway
