// Exchanges: from a granted lease to the answer.
#include <stdexcept>
#include <utility>

#include "base/field.hpp"
#include "base/hex.hpp"
#include "guard/blocking.hpp"
#include "middleware/middleware_state.hpp"
#include "middleware/observed_request.hpp"

namespace onceguard::http {
inline namespace v1 {

namespace asio = boost::asio;

namespace {

asio::awaitable<std::optional<response>> settle_by(exchange::state& run, settle_terms terms) {
  auto held = std::move(*run.held);
  run.held.reset();
  const auto ended = co_await held.settle(terms);
  run.way.go_on(step_end::done);
  co_return run.reply_to_settle(terms, ended);
}

/// Whether a lease is to be settled, by the exchange's one end.
bool end(exchange::state* run) {
  if (run == nullptr) return false;
  const auto reached = run->way.at();
  if (reached != step::run && reached != step::run_unguarded && reached != step::observe) {
    throw std::logic_error("onceguard::http::exchange: ended twice");
  }
  run->way.go_on(step_end::done);
  return run->way.at() == step::settle;
}

/// The same for an answer.
bool end_with(exchange::state* run, const answer_view& made) {
  const bool held = end(run);
  if (run != nullptr && run->observed) run->observed->answered(made);
  return held;
}

}  // namespace

bool is_onceguard_field(std::string_view name) noexcept { return is_reserved_field(name); }

answer_view view_of(const response& made, std::vector<field>& fields) {
  fields.clear();
  fields.reserve(made.headers.size());
  for (const auto& [name, value] : made.headers) fields.push_back({name, value});
  return {made.status, fields, made.body};
}

void drop_replay_mark(header_list& headers) {
  std::erase_if(headers, [](const auto& header) { return ends_here(header.first); });
}

exchange::exchange(const middleware_state& owner, std::unique_ptr<state> guarded) noexcept
    : owner_(&owner), state_(std::move(guarded)) {}
exchange::exchange(exchange&&) noexcept = default;
exchange::~exchange() = default;

bool exchange::guarded() const noexcept { return state_ && state_->held; }

running exchange::lease() {
  if (!guarded()) throw std::logic_error("onceguard::http::exchange: no lease guards it");
  return running(*state_->held);
}

std::size_t exchange::answer_limit() const noexcept {
  return guarded() ? state_->rule->rule.policy.max_answer_body : 0;
}

header_list exchange::headers() const {
  header_list out;
  if (!state_ || state_->observed) return out;
  const auto& held = state_->held;
  out.reserve(4);
  out.emplace_back("Onceguard-Scope",
                   base::to_hex(held ? held->about().scope : state_->admitted.scope));
  if (!held) {
    out.emplace_back("Onceguard-Unguarded", "store");
    return out;
  }
  out.emplace_back("Onceguard-Attempt", std::to_string(held->lease().attempt));
  out.emplace_back("Onceguard-Token", std::to_string(held->lease().token));
  out.emplace_back("Onceguard-Lease", held->text());
  return out;
}

response exchange::finish(response made) { return run_here(async_finish(std::move(made))); }

asio::awaitable<response> exchange::async_finish(response made) {
  std::vector<field> fields;
  auto instead = co_await async_finish(view_of(made, fields));
  if (instead) co_return std::move(*instead);
  drop_replay_mark(made.headers);
  co_return made;
}

std::optional<response> exchange::finish(const answer_view& made) {
  if (!end_with(state_.get(), made)) return std::nullopt;
  return run_here(settle_by(*state_, state_->terms_of(made)));
}

asio::awaitable<std::optional<response>> exchange::async_finish(answer_view made) {
  if (!end_with(state_.get(), made)) co_return std::nullopt;
  co_return co_await settle_by(*state_, state_->terms_of(made));
}

response exchange::fail(std::exception_ptr thrown) {
  return run_here(async_fail(std::move(thrown)));
}

asio::awaitable<response> exchange::async_fail(std::exception_ptr thrown) {
  problem_detail more("The request failed. Whether it took effect is not known.");
  more.status = 500;
  const bool held = end(state_.get());
  if (!state_) co_return owner_->refuse(problem::upstream_broken, std::move(more));
  settle_terms terms;
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (...) {
    terms = terms_of_exception(state_->rule->rule.policy);
  }
  if (state_->observed) state_->observed->failed(terms);
  if (!held)
    co_return owner_->refuse(problem::upstream_broken, std::move(more), &state_->rule->rule.policy);
  auto instead = co_await settle_by(*state_, terms);
  if (instead) co_return std::move(*instead);
  switch (terms.kind) {
    case settle_kind::fail:
      co_return owner_->refuse(problem::backing_off, problem_detail(terms.backoff),
                               &state_->rule->rule.policy);
    case settle_kind::release:
      more.detail = "Nothing was done. Send the same request with the same key again.";
      break;
    case settle_kind::complete:
    case settle_kind::abandon:
      more.detail.clear();
      break;
  }
  co_return owner_->refuse(problem::upstream_broken, std::move(more), &state_->rule->rule.policy);
}

}  // namespace v1
}  // namespace onceguard::http
