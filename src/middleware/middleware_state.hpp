// What a middleware and its exchanges hold.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <onceguard/byte_budget.hpp>
#include <onceguard/http.hpp>

#include "guard/changes.hpp"
#include "http/admission.hpp"
#include "http/client_reply.hpp"
#include "http/forwarded_fields.hpp"
#include "http/problem.hpp"
#include "http/request_flow.hpp"
#include "http/route_table.hpp"
#include "observing/observation.hpp"

namespace onceguard::http {
inline namespace v1 {

/// A route, ready for use.
struct ready_route {
  route rule;
  std::string name;                           ///< its host and path
  std::string service;                        ///< the name that fingerprints know it by
  std::unique_ptr<std::atomic<bool>> hinted;  ///< whether the log has its hint about the scope
};

class observed_request;

struct middleware_state {
  middleware_state(onceguard::guard* over, middleware_params given, std::vector<ready_route> routes,
                   std::vector<address_block> proxies);
  ~middleware_state();

  guard* const records;  ///< null: in transactions only
  const middleware_params params;
  const route_table<ready_route> table;
  const std::vector<address_block> trusted;
  std::unique_ptr<observing::observation> observed;  ///< null: no route observes

  [[nodiscard]] response refuse(problem which, problem_detail more = {},
                                const route_policy* policy = nullptr) const;
  /// A refusal of a request of this route, which is reported; `id` may be null.
  [[nodiscard]] response refuse(const ready_route& rule, const record_id* id, problem which,
                                problem_detail more) const;
  void report(seen_change seen, const ready_route& rule, const record_id* id,
              std::uint32_t attempt = 0) const noexcept;
  /// The first anonymous request of a route is worth a line of the log.
  void hint_scope(const ready_route& rule) const;
};

struct exchange::state {
  const middleware_state* owner;
  const ready_route* rule;
  admission admitted;
  header_list negotiation;  ///< what decides which form of a stored answer the client gets
  record_id id{};
  byte_reservation answer_room;
  std::uint32_t attempt = 0;
  std::optional<lease_handle> held;  ///< empty: the store is away; its watch uses what stands above
  std::unique_ptr<observed_request> observed;  ///< the route only observes, and nothing is held
  flow way;                                    ///< from its handler on

  ~state();
  state(const middleware_state& middleware, const ready_route& route, admission found,
        std::span<const field> fields);

  /// Reports what happens to the lease beside the work.
  void watch();
  /// What the client gets for a claim that granted nothing.
  [[nodiscard]] response reply_to_claim(const outcome& outcome) const;
  /// An answer that a record keeps, as this client gets it.
  [[nodiscard]] response replay(answer_ptr stored) const;
  /// How the lease ends after this answer.
  [[nodiscard]] settle_terms terms_of(const answer_view& made);
  /// What the client gets after the settle, instead of the handler's answer; empty: that answer.
  [[nodiscard]] std::optional<response> reply_to_settle(const settle_terms& terms,
                                                        const outcome& outcome) const;
};

[[nodiscard]] bool is_final_status(std::uint16_t status) noexcept;

}  // namespace v1
}  // namespace onceguard::http
