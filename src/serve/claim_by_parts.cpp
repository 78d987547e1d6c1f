#include "serve/claim_by_parts.hpp"

#include "base/clock.hpp"
#include "base/for_ever.hpp"
#include "http/problem.hpp"
#include "serve/claim_by_request.hpp"

namespace onceguard::serve {

namespace asio = boost::asio;

namespace {

subject_ptr subject_of_call(const claim_call& call, const request_digests& digests,
                            const route_policy& policy) {
  auto out = std::make_shared<subject>(*subject_of(*call.parts, digests));
  // A client that is cut off from the service works on after its lease.
  out->run_timeout = policy.upstream_timeout;
  return out;
}

}  // namespace

rules_kind claim_by_parts::kind() const {
  if (call_.policy.empty()) return rules_kind::defaults;
  return call_.policy_is_object ? rules_kind::object : rules_kind::policy;
}

asio::awaitable<claim_reply> claim_by_parts::run() {
  held_ = std::make_shared<held_operation>();
  held_->rules = owner_.rules();
  held_->service = call_.service;
  auto policy = held_->rules->policy(kind(), call_.policy);
  if (!policy) {
    claim_reply out;
    out.message = bad_request(owner_.problem_base(), policy.error().detail);
    co_return out;
  }
  held_->policy = std::move(*policy);
  if (call_.policy_is_object) owner_.expect(*held_->policy);
  if (auto wrong = complaint(*call_.parts)) co_return refused(*wrong);
  const auto digests = digests_of(*call_.parts);
  // Until the answer of the claim is made. What comes from the store has its memory before.
  byte_reservation room;
  if (!asker_.take_room(room, owner_.long_answers_.bytes_of(digests.id))) {
    claim_reply out;
    out.message = no_room_for_answer(owner_.problem_base());
    co_return out;
  }
  auto got = co_await claim(digests);
  if (got.outcome.answer) owner_.long_answers_.note(digests.id, got.outcome.answer->body.size());
  if (!got.lease) co_return answered(got.outcome);
  auto lease = std::move(*got.lease);
  co_return co_await granted(std::move(lease));
}

claim_reply claim_by_parts::refused(const error& why) const {
  claim_reply out;
  out.message.object = {{"verdict", "refused"},
                        {"detail", why.detail},
                        {"kind", name_of(refusal_kind::invalid_request)},
                        {"retryable", false}};
  put_answer(out.message, "reply",
             http::problem_answer(http::problem::key_malformed, owner_.problem_base(),
                                  http::problem_detail(why.detail), held_->policy.get()));
  return out;
}

claim_reply claim_by_parts::answered(const outcome& outcome) const {
  claim_reply out;
  out.message.object["verdict"] = verdict_of(outcome);
  if (outcome.kind == outcome_kind::unguarded) {
    out.message.object["headers"] = headers_of({{"Onceguard-Unguarded", "store"}});
    return out;
  }
  put_retry(out.message, outcome);
  put_outcome(out.message, outcome, owner_.problem_base(), *held_->policy);
  return out;
}

asio::awaitable<claim_result> claim_by_parts::claim(const request_digests& digests) {
  auto& engine = owner_.records().engine();
  if (auto found = engine.find_replay(digests.id, digests.print)) {
    claim_result out;
    out.outcome.kind = outcome_kind::replay;
    out.outcome.answer = std::move(found->answer);
    out.outcome.kept = found->kept;
    co_return out;
  }
  held_->answer_room = byte_reservation(owner_.records().budget());
  operation wanted;
  wanted.id = digests.id;
  wanted.about = subject_of_call(call_, digests, *held_->policy);
  wanted.policy = held_->policy.get();
  wanted.upstream = held_->service;
  wanted.answer_room = &held_->answer_room;
  wanted.longest_answer = held_->policy->max_answer_body;
  wanted.claim = call_.claim;
  wanted.wait = call_.wait;
  wanted.into_started = call_.into_started;
  wanted.caller = asker_.gone;
  co_return co_await engine.claim(std::move(wanted));
}

asio::awaitable<claim_reply> claim_by_parts::granted(lease_handle lease) {
  held_->lease.emplace(std::move(lease));
  auto& held = *held_->lease;
  if (!held.begin_sending()) {
    settle_terms terms;
    terms.kind = settle_kind::release;
    static_cast<void>(co_await held.settle(std::move(terms)));
    outcome late;
    late.kind = outcome_kind::no_room;
    co_return answered(late);
  }
  operation_id id;
  id.record = held.id();
  id.held = held.lease();
  id.mark = print_mark(held.about().print);
  id.kind = kind();
  id.rules = call_.policy;
  held_->id = id.text();
  held_->renewed_until = base::boot_now() + base::bounded(held_->policy->upstream_timeout);
  co_return co_await take_in(owner_, held_, call_, asker_);
}

}  // namespace onceguard::serve
