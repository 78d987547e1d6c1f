// Requests to the database: what is to be written or read, and the callers that wait for it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "libpq/binary_format.hpp"
#include "store/postgres/queries/record_row.hpp"
#include "store/postgres/queries/statements.hpp"
#include "store/request_job.hpp"

namespace onceguard::postgres {

class dispatcher;

/// A lease on a record that is not there yet.
struct first_claim {
  claim_id lease{};
  std::int64_t lease_ms = 0;
  bool into_started = false;
  std::int64_t unknown_retention_ms = 0;
  std::int64_t retention_ms = 0;
  std::int64_t flags = 0;
  std::string subject;  ///< sealed
};

/// The end of a lease whose work took effect.
struct completion {
  claim_id lease{};
  std::int64_t token = 0;
  std::int64_t retention_ms = 0;
  std::int64_t flags = 0;
  std::string subject;  ///< sealed, as the claim wrote it
  std::string outcome;  ///< sealed
};

struct record_query {
  bool whole = false;  ///< also with a long outcome, which is not read among many
};

/// What is sent by itself, and is about no one record.
struct question {
  const statement* sent = nullptr;
  std::function<parameters(const dispatcher&)> encode;
  std::function<void(const rows&, dispatcher&)> read;  ///< may throw unexpected_answer
};

/// One part of a call and what became of it. Belongs to the pool's thread while its job is under
/// way.
struct request {
  record_id id{};
  std::variant<record_query, first_claim, completion, row_to_write, question> content;
  bool announces = false;  ///< it ends a lease, which others may wait for
  bool repeatable = true;  ///< it may be sent again when its effect is unknown
  steady_time not_before{};

  /// Neither written nor found: there is no record, or another transaction works on it.
  reading got{};
  std::optional<error> failed{};
  bool doubtful = false;  ///< an earlier sending has an unknown effect

  [[nodiscard]] bool writes() const noexcept {
    return !std::holds_alternative<record_query>(content) &&
           !std::holds_alternative<question>(content);
  }
  /// Carried out, it gives its caller a lease.
  [[nodiscard]] bool grants() const noexcept {
    const auto* row = std::get_if<row_to_write>(&content);
    return std::holds_alternative<first_claim>(content) || (row != nullptr && row->grants);
  }
  void fail(error why) {
    if (!writes()) why.effect = effect::none;
    failed = std::move(why);
  }
};

using job = request_job<request>;

/// A part of a job that waits or is in flight.
struct entry {
  std::shared_ptr<postgres::job> job;
  postgres::request* request = nullptr;
  bool alone = false;  ///< sent by itself, because one request of its trip made all fail
  std::uint32_t tries = 0;
  steady_time waits_since{};
};

/// Sends requests together, and returns them with what became of each.
[[nodiscard]] boost::asio::awaitable<std::vector<request>> send_all(
    std::shared_ptr<batch_queue> queue, std::vector<request> requests, milliseconds timeout);

}  // namespace onceguard::postgres
