// One guarded request: read whole, claimed, run, settled, answered.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "engine/engine.hpp"
#include "engine/held_lease.hpp"
#include "gateway/client_writer.hpp"
#include "gateway/session.hpp"
#include "gateway/upstream_call.hpp"
#include "http/admission.hpp"

namespace onceguard::gateway {

class guarded_exchange final : public work {
 public:
  guarded_exchange(session& session, http::admission admitted);

  /// True: the client's connection may go on with another request.
  boost::asio::awaitable<bool> serve();

  // The work, for the engine.
  boost::asio::awaitable<settlement> run(held_lease& held) override;
  boost::asio::awaitable<probe_report> ask(held_lease& held) override;
  boost::asio::awaitable<void> run_unguarded() override;
  bool is_awaited() override;
  result<fingerprint> remake(const subject& about, std::string_view method) override;

 private:
  enum class body_read : std::uint8_t { whole, too_large, no_room, too_slow, malformed, gone };

  boost::asio::awaitable<body_read> read_body();
  [[nodiscard]] bool make_room_for(std::size_t more);
  void drop_body();
  boost::asio::awaitable<bool> refuse_body(body_read why);
  [[nodiscard]] fingerprint make_print(const fingerprint_rule& rule,
                                       const http::scope_place& under) const;
  [[nodiscard]] subject_ptr make_subject(const http::scope_place& under) const;
  /// The scope that the operation runs under: its own, or a former one of its route.
  [[nodiscard]] const digest& scope_of(const held_lease& held) const;
  [[nodiscard]] operation make_operation();
  void hint_scope();

  [[nodiscard]] std::string upstream_head(const held_lease* held) const;
  boost::asio::awaitable<settlement> call(held_lease* held);
  settlement judge(call_result result);
  settlement judge_answer(call_result result);
  settlement trouble(settle_kind kind, http::problem which, unknown_reason why, std::string detail);
  void take_room_of(std::size_t answer_bytes);
  void keep_connection();

  boost::asio::awaitable<bool> answer_with(execution outcome);
  boost::asio::awaitable<bool> send_own();
  boost::asio::awaitable<bool> pass_on();  // what is too large to be held
  boost::asio::awaitable<bool> send_trouble();
  boost::asio::awaitable<bool> send_stored(answer_ptr answer, answer_kept kept);
  boost::asio::awaitable<bool> send_store_failure(execution outcome);
  /// Logs it, and says when to come again.
  [[nodiscard]] http::problem_detail buffers_full(std::string_view for_what) const;

  session& from_;
  const http::admission admitted_;
  const route_policy& policy_;
  std::string body_;
  base::reservation body_room_;

  // What the upstream gave, once it ran
  upstream_ptr up_;
  base::reservation answer_room_;
  std::shared_ptr<answer> own_;              // whole: as the first client gets it, less extra_
  extra_fields extra_;                       // Date and Set-Cookie of the first answer
  std::optional<std::string> stream_begun_;  // the answer is passed on while it comes
  std::optional<http::problem> trouble_;     // instead of an answer
};

}  // namespace onceguard::gateway
