#include "serve/batch.hpp"

#include <memory>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "serve/member_reader.hpp"

namespace onceguard::serve {

namespace asio = boost::asio;

namespace {

constexpr std::size_t calls_max = 256;

struct call_result {
  reply_message message;
  std::optional<claim_reply> claim;
};

/// A call as it was read; one of these.
struct call_read {
  std::optional<reply_message> refused;
  std::optional<claim_call> claim;
  std::string operation;  ///< settle
  std::optional<settle_call> settle;
};

void read_claim_into(call_read& out, decisions& service, json object, claim_turns& turns) {
  auto read = read_claim({std::move(object), std::nullopt});
  if (!read) {
    out.refused = bad_request(service.problem_base(), read.error().detail);
    return;
  }
  out.refused = service.bind(*read);
  if (out.refused) return;
  // Both would get the lease, and their work would run twice.
  if (read->claim && !turns.add(*read->claim)) {
    out.refused = claim_reused(service.problem_base(), "it stands in this batch before");
    return;
  }
  out.claim = *std::move(read);
}

call_read read_one(decisions& service, json given, claim_turns& turns) {
  call_read out;
  std::string name;
  std::string fault;
  if (!given.is_object()) {
    fault = "calls: expected a list of objects";
  } else {
    // Whoever reads the rest refuses what it does not know.
    member_reader in(given, {}, {}, fault);
    fault.clear();
    name = in.text("call", true);
    if (name != "claim") out.operation = in.text("operation", true);
    given.erase("call");
    given.erase("operation");
  }
  const auto kind = ending_of(name);
  if (fault.empty() && name != "claim" && !kind) fault = "call: there is none of this name";
  if (!fault.empty()) {
    out.refused = bad_request(service.problem_base(), fault);
    return out;
  }
  if (name == "claim") {
    read_claim_into(out, service, std::move(given), turns);
    return out;
  }
  auto read = read_settle(*kind, {std::move(given), std::nullopt});
  if (read) {
    out.settle = *std::move(read);
  } else {
    out.refused = bad_request(service.problem_base(), read.error().detail);
  }
  return out;
}

asio::awaitable<call_result> carry_out(decisions& service, call_read call, caller asker,
                                       claim_turns& turns) {
  call_result out;
  if (call.refused) {
    out.message = *std::move(call.refused);
  } else if (call.claim) {
    auto wanted = *std::move(call.claim);
    out.claim.emplace(co_await service.claim_in_turn(std::move(wanted), asker, turns));
    out.message = std::move(out.claim->message);
  } else {
    auto wanted = *std::move(call.settle);
    out.message = co_await service.settle(call.operation, std::move(wanted), asker.connection);
  }
  co_return out;
}

/// What a call leaves that threw: whether it took effect is not known.
call_result failed(const decisions& service, const std::exception_ptr& thrown) {
  call_result out;
  std::string why = "a fault of Onceguard itself";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& fault) {
    why += ": ";
    why += fault.what();
  }
  out.message = service_problem(service.problem_base(), 500, "internal", "The call failed", why,
                                milliseconds(-1));
  return out;
}

}  // namespace

asio::awaitable<batch_reply> carry_out_batch(decisions& service, message given, caller asker,
                                             byte_reservation& room) {
  batch_reply out;
  std::string fault;
  member_reader in(given.object, {}, {"calls"}, fault);
  auto* const calls = in.get("calls", json::value_t::array, true);
  if (calls != nullptr && calls->size() > calls_max) {
    in.refuse("calls", "more than " + std::to_string(calls_max));
  }
  if (!fault.empty()) {
    out.message = bad_request(service.problem_base(), fault);
    co_return out;
  }
  const auto executor = co_await asio::this_coro::executor;
  // All are read before the first one begins: the claims of a batch begin together.
  claim_turns turns(service.operations());
  std::vector<call_read> read;
  for (auto& each : *calls) read.push_back(read_one(service, std::move(each), turns));
  asio::steady_timer over(executor, asio::steady_timer::time_point::max());
  std::vector<call_result> results(calls->size());
  std::size_t left = calls->size();
  for (std::size_t i = 0; i < results.size(); ++i) {
    asio::co_spawn(executor, carry_out(service, std::move(read[i]), asker, turns),
                   [&, i](std::exception_ptr thrown, call_result made) {
                     results[i] = thrown ? failed(service, thrown) : std::move(made);
                     auto& message = results[i].message;
                     const auto wanted = room.bytes() + room_of(message, message_form::plain);
                     if (!room.grow_to(wanted, asker.left_for_others)) {
                       message = no_room_for_answer(service.problem_base());
                     }
                     if (--left == 0) over.cancel();
                   });
  }
  boost::system::error_code cancelled;
  if (left != 0) {
    co_await over.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  json all = json::array();
  for (auto& each : results) {
    const auto status = each.message.status;
    auto value = value_of(std::move(each.message));
    value["status"] = status;
    all.push_back(std::move(value));
    if (each.claim) out.claims.push_back(std::move(*each.claim));
  }
  out.message.object["results"] = std::move(all);
  co_return out;
}

}  // namespace onceguard::serve
