#include "engine/redirected_operation.hpp"

#include <string>
#include <utility>

#include "core/redirect.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

constexpr int steps_max = 10;  // clients follow about as many

/// One step of a way: the scope of its record, and where it stands.
struct way_step {
  digest scope{};
  record_id id{};
  std::string target;
};

/// The step behind the redirect that `path` was answered with, of this operation's key.
std::optional<way_step> step_behind(const operation& op, const answer_ptr& stored,
                                    std::string_view path) {
  if (!stored) return std::nullopt;
  auto target = core::redirect_target(*stored, path);
  if (!target) return std::nullopt;
  way_step out;
  // All steps are found from the scope in which the key came first.
  out.scope = core::redirected_scope(op.about->scope, *target);
  out.id = make_record_id(out.scope, op.about->key);
  out.target = std::move(*target);
  return out;
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

bool stands_at(const fingerprint_input& input, std::string_view target) {
  const auto path = path_of(target);
  const auto query =
      target.size() == path.size() ? std::string_view{} : target.substr(path.size() + 1);
  return input.path == path && input.query == query;
}

/// Whether the record's request and the operation differ in their places alone. The record does not
/// say what its query was: a redirect keeps the query or adds one.
bool is_same_elsewhere(const operation& op, const subject& before) {
  const auto rule = fingerprint_rule::parse(before.print.method);
  if (!rule || before.method != op.input.method) return false;
  auto moved = op.input;
  moved.path = before.path;
  for (const auto query : {op.input.query, std::string_view{}}) {
    moved.query = query;
    if (make_fingerprint(*rule, moved) == before.print) return true;
  }
  return false;
}

/// Goes along the redirects of the record to the step that stands at the operation's place, behind
/// at least `steps_least` others.
asio::awaitable<bool> follow(engine::state& engine, operation& op, int steps_least) {
  auto id = op.id;
  for (int i = 0; i < steps_max; ++i) {
    const auto found = co_await engine.records.find(id, engine.params.store_timeout);
    if (!found || !*found || (*found)->state != observed_state::completed) co_return false;
    const auto& stored = (*found)->stored;
    if (!stored.about || (i == 0 && !is_same_elsewhere(op, *stored.about))) co_return false;
    auto step = step_behind(op, stored.answer, stored.about->path);
    if (!step) co_return false;
    if (i >= steps_least && stands_at(op.input, step->target)) {
      auto about = std::make_shared<subject>(*op.about);
      about->scope = step->scope;
      about->scope_kind = core::redirect_kind;
      op.about = std::move(about);
      op.id = step->id;
      op.scopes.clear();  // the first request has looked there
      co_return true;
    }
    id = step->id;
  }
  co_return false;
}

}  // namespace

bool is_redirect(const operation& op, const answer_ptr& stored) {
  return step_behind(op, stored, op.about->path).has_value();
}

asio::awaitable<std::optional<kept_reply>> end_of_redirect(engine::state& engine,
                                                           const operation& op,
                                                           const answer_ptr& redirect) {
  auto step = step_behind(op, redirect, op.about->path);
  for (int i = 0; step && i < steps_max; ++i) {
    const auto found = co_await engine.records.find(step->id, engine.params.store_timeout);
    if (!found || !*found || (*found)->state != observed_state::completed) break;
    const auto& stored = (*found)->stored;
    auto next = step_behind(op, stored.answer, path_of(step->target));
    if (!next) co_return kept_reply{stored.answer, stored.kept};
    step = std::move(next);
  }
  co_return std::nullopt;
}

asio::awaitable<bool> follow_redirect(engine::state& engine, operation& op) {
  return follow(engine, op, 0);
}

asio::awaitable<bool> take_way_back(engine::state& engine, operation& op) {
  if (op.about->scope_kind == core::redirect_kind) co_return false;
  op.came_back = co_await follow(engine, op, 1);
  co_return op.came_back;
}

}  // namespace onceguard
