// A client's connection: one call after the other. What was claimed on it is renewed while it
// lives.
#pragma once
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <onceguard/byte_budget.hpp>

#include "http1/server/served_connection.hpp"
#include "serve/client_access.hpp"
#include "serve/decisions.hpp"

namespace onceguard::serve {

/// What connections share.
struct connection_context {
  decisions& service;
  const serve_params& params;
  const client_access& access;
  byte_budget messages;               ///< what is read and answered now
  std::atomic<std::size_t> calls{0};  ///< that are carried out now
};

/// src/serve/openapi.json, which is compiled in.
[[nodiscard]] std::string_view openapi_document() noexcept;

class connection final : public http1::served_connection {
 public:
  /// `settings` null: in the clear.
  connection(http1::stream_socket socket, boost::asio::io_context& io, connection_context& context,
             const tls::context& settings);
  ~connection() override;

  /// Until the client leaves or is refused.
  boost::asio::awaitable<void> run();

 private:
  struct call;

  boost::asio::awaitable<bool> serve_one();
  boost::asio::awaitable<bool> carry_out(const call& called, std::string body);
  boost::asio::awaitable<bool> claim(const call& called, message given);
  boost::asio::awaitable<bool> batch(const call& called, message given);
  boost::asio::awaitable<bool> describe();
  boost::asio::awaitable<bool> send(reply_message made, message_form form);
  /// Sends the answer of a call that is over, if its memory fits.
  boost::asio::awaitable<bool> send_answer(const call& called, reply_message made);
  boost::asio::awaitable<bool> refuse_call(reply_message why, message_form form);
  [[nodiscard]] std::optional<reply_message> read_call(call& out) const;
  [[nodiscard]] std::size_t room_for_others(const call& called) const;
  [[nodiscard]] std::size_t room_left_by_answer(const call& called) const;
  [[nodiscard]] bool take_room(const call& called);
  [[nodiscard]] bool take_room_to_answer(std::size_t bytes, const call& called);
  /// Whether its client does not wait for the call any more, as far as that is worth a look.
  [[nodiscard]] bool is_forsaken(const call& called);
  /// Whether another call may follow the answer that is written now.
  [[nodiscard]] bool take_another();
  [[nodiscard]] reply_message health() const;
  [[nodiscard]] reply_message readiness() const;
  /// Until the returned stop source is gone: its stop is requested when the client leaves.
  [[nodiscard]] std::shared_ptr<std::stop_source> watch();

  [[nodiscard]] std::string answer_to_fault(std::uint16_t status, std::string_view why) override;
  [[nodiscard]] std::chrono::milliseconds idle_time() const override;

  connection_context& context_;
  const connection_number number_;
  byte_reservation room_;  ///< for the message, and then for its answer
  std::string refusal_;    ///< what answer_to_fault() gives next
  bool is_last_ = false;   ///< its answer has said that the connection ends
  /// What a pending wait looks at.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace onceguard::serve
