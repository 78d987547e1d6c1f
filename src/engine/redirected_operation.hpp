// Redirected operations. A redirect is stored as the answer of its request, like any answer, and
// the step behind it has a record of its own, which is found by the key, the scope of the first
// request and the place to which the redirect leads. So that step runs once, and a retry that
// begins anew gets the answer of the last step.
#pragma once
#include <optional>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>

#include "engine/engine_state.hpp"

namespace onceguard {

/// An answer, as a record keeps it.
struct kept_reply {
  answer_ptr answer;
  answer_kept kept = answer_kept::none;
};

/// Whether the stored answer redirects this operation.
[[nodiscard]] bool is_redirect(const operation& op, const answer_ptr& stored);

/// The answer of the last step that a redirect led to, if that is done and known; empty: the
/// redirect itself has to be sent, so that the client goes on.
[[nodiscard]] boost::asio::awaitable<std::optional<kept_reply>> end_of_redirect(
    engine::state& engine, const operation& op, const answer_ptr& redirect);

/// Of an operation that differs from what the record has: goes on with the record of the step, if
/// it is the same request at the place to which the record's answer leads. False: it is not.
[[nodiscard]] boost::asio::awaitable<bool> follow_redirect(engine::state& engine, operation& op);

/// Of an operation that the record redirects: goes on with the record of the step that leads back
/// to where the operation is, by way of another place (a service sets a cookie there, and sends the
/// client back). Such a step is released where its answer redirects once more.
[[nodiscard]] boost::asio::awaitable<bool> take_way_back(engine::state& engine, operation& op);

}  // namespace onceguard
