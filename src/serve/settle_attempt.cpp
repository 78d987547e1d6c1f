#include "serve/settle_attempt.hpp"

#include "base/clock.hpp"
#include "base/for_ever.hpp"
#include "engine/held_bytes.hpp"
#include "http/client_reply.hpp"
#include "http/kept_parts.hpp"
#include "middleware/kept_answer.hpp"
#include "middleware/observed_request.hpp"

namespace onceguard::serve {

namespace asio = boost::asio;

namespace {

std::string_view outcome_of(const outcome& ended) noexcept {
  if (ended.kind == outcome_kind::ran) return "settled";
  if (ended.kind == outcome_kind::replay) return "replay";
  if (ended.kind == outcome_kind::unrecorded) return "unrecorded";
  if (ended.kind == outcome_kind::backoff) return "backoff";
  return "superseded";
}

}  // namespace

const route_policy& settle_attempt::policy() const {
  auto* const parts = held_->exchange ? held_->exchange->parts() : nullptr;
  return parts != nullptr ? parts->rule->rule.policy : *held_->policy;
}

asio::awaitable<reply_message> settle_attempt::run() {
  held_ = owner_.operations().take(id_);
  if (held_ && held_->handle() == nullptr) co_return end_observed();
  if (!held_) {
    if (is_observed_id(id_)) {
      // Its connection has ended: it was counted then.
      reply_message done;
      done.object["outcome"] = "settled";
      co_return done;
    }
    const auto id = operation_id::parse(id_);
    if (!id) co_return no_such_operation();
    auto found = co_await owner_.resume(*id);
    if (!found) {
      const auto why = found.error();
      co_return why.code == errc::not_found ? no_such_operation() : store_failed(why);
    }
    if (!*found) co_return gone();
    held_ = std::move(*found);
    resumed_ = true;
  }
  const bool extends = call_.kind == ending::renew || call_.kind == ending::dispatch;
  if (extends) co_return co_await extend();
  co_return co_await end();
}

asio::awaitable<reply_message> settle_attempt::extend() {
  auto& lease = *held_->handle();
  const bool renews = call_.kind == ending::renew;
  auto extension = renews ? lease.renew() : lease.dispatch();
  auto valid = co_await std::move(extension);
  reply_message out;
  if (!valid) {
    out = store_failed(valid.error());
  } else if (*valid) {
    out.object = {{"outcome", renews ? "renewed" : "dispatched"},
                  {"lease_ms", lease.left().count()}};
  } else {
    out = gone();
  }
  if (resumed_ && valid && *valid) {
    held_->connection = asker_;
    held_->renewed_until = base::boot_now() + base::bounded(policy().upstream_timeout);
    resumed_ = false;
  }
  if (resumed_ || !owner_.operations().put(held_)) held_->let_go();
  co_return out;
}

asio::awaitable<reply_message> settle_attempt::end() {
  if (held_->exchange && call_.kind == ending::complete && !call_.made) {
    // It stays held: the client may say it better.
    if (resumed_ || !owner_.operations().put(held_)) held_->let_go();
    co_return bad_request(owner_.problem_base(), "answer: is missing");
  }
  auto settling = terms();
  auto& lease = *held_->handle();
  if (settling.answer) owner_.long_answers_.note(lease.id(), settling.answer->body.size());
  const auto ended = co_await lease.settle(settling);
  co_return answered(settling, ended);
}

reply_message settle_attempt::end_observed() const {
  auto& seen = *held_->exchange->parts()->observed;
  if (call_.made) {
    std::vector<field> fields;
    auto view = http::view_of(*call_.made, fields);
    if (!call_.has_body) view.body.reset();
    seen.answered(view);
  } else {
    seen.failed(terms());
  }
  reply_message out;
  out.object["outcome"] = "settled";
  return out;
}

settle_terms settle_attempt::terms_of_answer() const {
  const auto& rules = policy();
  settle_terms out;
  out.retention = rules.retention;
  if (!call_.made) {
    out.kept = answer_kept::none;
    return out;
  }
  std::vector<field> fields;
  auto view = http::view_of(*call_.made, fields);
  if (!call_.has_body) view.body.reset();
  if (held_->exchange) return held_->exchange->parts()->terms_of(view);
  if (!view.body) {
    out.kept = answer_kept::streamed;
  } else if (view.body->size() > rules.max_answer_body) {
    out.kept = answer_kept::too_large;
  } else {
    if (!rules.keep_body) out.kept = answer_kept::status_only;
    auto kept = std::make_shared<answer>(http::answer_to_keep(view, rules));
    out.answer = std::move(kept);
    http::keep_parts_of(rules, held_->handle()->about().route, out);
    held_->answer_room.set(out.answer == nullptr ? 0 : bytes_of(*out.answer));
  }
  return out;
}

settle_terms settle_attempt::terms() const {
  if (call_.kind == ending::complete) return terms_of_answer();
  const auto& rules = policy();
  settle_terms out;
  out.retention = rules.retention;
  out.backoff = base::bounded(call_.backoff.value_or(rules.backoff));
  out.backoff_max = std::max(rules.backoff_max, out.backoff);
  out.kind = settle_kind::abandon;
  auto kind = call_.kind;
  if (kind == ending::exception && rules.exception == exception_rule::release) {
    kind = ending::release;
  }
  if (kind == ending::exception && rules.exception == exception_rule::fail) kind = ending::fail;
  if (kind == ending::fail) out.kind = settle_kind::fail;
  if (kind == ending::release) out.kind = settle_kind::release;
  if (out.kind == settle_kind::abandon) out.why = unknown_reason::abandoned;
  return out;
}

reply_message settle_attempt::answered(const settle_terms& settling, const outcome& ended) const {
  reply_message out;
  out.object["outcome"] = outcome_of(ended);
  if (!held_->exchange) {
    put_outcome(out, ended, owner_.problem_base(), policy());
    return out;
  }
  auto reply = held_->exchange->parts()->reply_to_settle(settling, ended);
  if (!reply) reply = reply_to_failure(settling);
  if (ended.kind == outcome_kind::replay) out.object["kept"] = kept_text(ended.kept);
  if (reply) put_answer(out, "reply", *std::move(reply));
  return out;
}

std::optional<http::response> settle_attempt::reply_to_failure(const settle_terms& settling) const {
  const auto& owner = held_->rules->routes.state();
  if (call_.kind == ending::complete) return std::nullopt;
  if (settling.kind == settle_kind::fail) {
    return owner.refuse(http::problem::backing_off, http::problem_detail(settling.backoff),
                        &policy());
  }
  http::problem_detail more;
  more.status = 500;
  if (settling.kind == settle_kind::release) {
    more.detail = "Nothing was done. Send the same request with the same key again.";
  }
  return owner.refuse(http::problem::upstream_broken, std::move(more), &policy());
}

reply_message settle_attempt::store_failed(const error& why) const {
  return service_problem(owner_.problem_base(), 503, "store-unreachable",
                         "The store of idempotency records is out of reach",
                         "Nothing is settled: send the same call again. " + why.detail,
                         milliseconds(1'000));
}

reply_message settle_attempt::no_such_operation() const {
  return not_found(owner_.problem_base(), "There is no operation with this id.");
}

reply_message settle_attempt::gone() const {
  outcome ended;
  ended.kind = outcome_kind::superseded;
  reply_message out;
  out.object["outcome"] = "superseded";
  put_outcome(out, ended, owner_.problem_base(), *owner_.rules()->defaults);
  return out;
}

}  // namespace onceguard::serve
