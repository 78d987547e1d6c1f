// What the client gets for an outcome of the engine: pure, for every front door.
#pragma once
#include <cstdint>
#include <string>

#include <onceguard/engine.hpp>

#include "http/problem.hpp"
#include "http/request_report.hpp"

namespace onceguard::http {

enum class reply_kind : std::uint8_t {
  work,    ///< what the work answered, or that it gave no answer
  stored,  ///< `outcome.answer`, marked as a replay
  refusal,
};

/// What the client gets.
struct reply {
  reply_kind kind = reply_kind::work;
  problem which = problem::upstream_broken;  ///< refusal
  problem_detail more;                       ///< refusal
  std::string why{};  ///< a refusal because of the store or the record, for the log
};

/// The claim's or the settle's outcome as a reply.
[[nodiscard]] reply reply_to(const outcome& outcome);

/// The outcome of an operation whose answer is in memory.
[[nodiscard]] outcome replay_of(cached_replay found);

/// The outcome for the report. `ran`: this request's own work ran, whatever became of its lease.
[[nodiscard]] request_outcome report_of(const outcome& outcome, bool ran) noexcept;

/// Logs a refusal because of the record or the store, which has a `why`. The engine logs the
/// beginning and the end of an outage.
void log_refusal(const reply& refused, const record_id& id);

/// Why an answer that an application or a person stored can't be sent; empty: it can.
[[nodiscard]] std::string stored_answer_fault(const answer& stored);

}  // namespace onceguard::http
