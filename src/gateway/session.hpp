// One client connection, which serves its requests one after the other.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "gateway/io_thread.hpp"
#include "gateway/message_heads.hpp"
#include "gateway/pending_report.hpp"
#include "http/admission.hpp"
#include "http/problem.hpp"
#include "http/trace_context.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

/// The other end of a connection.
struct client_peer {
  std::string address{};
  bool trusted = false;       ///< it is a listed proxy
  std::string certificate{};  ///< as a digest; empty: none
};

/// Belongs to one I/O thread, from accept to close.
class session {
 public:
  session(io_thread& thread, tcp::socket socket);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  /// Serves until the connection ends.
  static boost::asio::awaitable<void> run(std::unique_ptr<session> self);

  /// For draining: closes the connection if it is idle and stays so for the time that a request on
  /// its way may take, or if its request has not arrived completely in the time that it has. Ends
  /// an answer that has no end of its own when its time is over. Otherwise the connection is closed
  /// after the answer.
  void drain() noexcept;

  // For the code that handles the session's requests.
  [[nodiscard]] io_thread& thread() noexcept { return thread_; }
  [[nodiscard]] async_socket& stream() noexcept { return stream_; }
  [[nodiscard]] http1::reader& reader() noexcept { return reader_; }
  /// Of the running request.
  [[nodiscard]] const http1::head& head() const noexcept { return reader_.head(); }
  [[nodiscard]] const client_peer& peer() const noexcept { return peer_; }
  [[nodiscard]] proxy_hop hop() const noexcept {
    return {peer_.address, peer_.trusted, thread_.shared.loop_mark, report_.trace,
            stream_.encryption() != nullptr};
  }
  /// The route of the running request; set once it is found.
  [[nodiscard]] const route& rule() const noexcept { return *rule_; }
  void set_rule(const route* found) noexcept { rule_ = found; }
  /// What the client's last request was scoped by.
  [[nodiscard]] http::scope_memo& last_scope() noexcept { return scope_; }
  /// The report of the running request, which the session finishes.
  [[nodiscard]] pending_report& report() noexcept { return report_; }
  /// Reads until next() returns something else than need_more. Failure: progress::error of the
  /// reader, or progress::need_more if the connection ended or the client was too slow.
  boost::asio::awaitable<http1::progress> advance(milliseconds timeout);
  /// Whether the last advance() failed because the request's body did not arrive in time.
  [[nodiscard]] bool client_too_slow() const noexcept { return arrival_ == arrival::late; }
  /// Advances with the data that was already read; returns need_more at its end.
  http1::progress advance_now();

  /// The style of the answer: whether the connection may be kept, as far as the request and the
  /// server permit.
  [[nodiscard]] answer_style style(bool replayed = false) const noexcept;
  /// Sends a whole answer. False: the client's connection failed or must be closed.
  boost::asio::awaitable<bool> send(const answer& answer, answer_style style,
                                    const extra_fields& extra = {});
  boost::asio::awaitable<bool> send_problem(http::problem which, http::problem_detail more);
  /// Sends a problem answer before the request's body was read. The answer announces that the
  /// connection closes; the rest of the request is read and dropped for a while, so that the client
  /// receives the answer.
  boost::asio::awaitable<bool> refuse(http::problem which, http::problem_detail more);
  /// From now on, the rest of the request is forwarded as it arrives.
  void begin_upload() noexcept { arrival_ = arrival::forwarded; }
  /// For an answer that was sent before the whole request had arrived: reads and drops the rest of
  /// the request for a while, so that the client receives the answer. Finishes the report before.
  boost::asio::awaitable<void> linger();
  /// Marks an answer that has no end of its own (a tunnel, an event stream) while it is sent. If
  /// the gateway ends, `upstream` is closed, and the wait for the client ends. Without an
  /// `upstream`, nothing is marked.
  class endless_answer {
   public:
    endless_answer(session& client, async_socket* upstream) : client_(client) {
      client_.endless_ = upstream;
    }
    ~endless_answer() { client_.endless_ = nullptr; }
    endless_answer(const endless_answer&) = delete;
    endless_answer& operator=(const endless_answer&) = delete;

   private:
    session& client_;
  };
  /// Whether the whole request was read, so that another one can follow.
  [[nodiscard]] bool request_consumed() const noexcept { return arrival_ == arrival::whole; }
  void set_consumed() noexcept { arrival_ = arrival::whole; }

 private:
  enum class phase : std::uint8_t {
    idle,     ///< nothing of a request has arrived
    reading,  ///< waits for the rest of a request
    working,
    sending,  ///< a stored answer or a problem, which the client can request again
  };
  /// How the body of the running request arrives.
  enum class arrival : std::uint8_t {
    held,       ///< it is collected
    forwarded,  ///< it goes on to the upstream
    whole,
    late,  ///< it did not arrive in time
  };

  boost::asio::awaitable<bool> begin_tls();
  boost::asio::awaitable<void> serve();
  boost::asio::awaitable<http1::progress> read_head();
  /// How long a connection without a request is read on.
  [[nodiscard]] milliseconds idle_left() const noexcept;
  /// Whether the gateway is ending and does not wait for this request any longer.
  [[nodiscard]] bool too_late_to_read() const noexcept;

  io_thread& thread_;
  async_socket stream_;
  http1::reader reader_;
  client_peer peer_;
  phase phase_ = phase::idle;
  base::boot_clock::time_point idle_since_ = base::boot_now();
  arrival arrival_ = arrival::held;
  async_socket* endless_ = nullptr;  // the upstream of an answer that has no end of its own
  tls::transfer_pace pace_;
  const route* rule_ = nullptr;
  pending_report report_;
  http::scope_memo scope_;
  std::string out_;
};

/// Serves the request whose head the session's reader holds, step by step. True: the client's
/// connection may be used for another request.
boost::asio::awaitable<bool> serve_request(session& client);

class observed_request;

/// The step of a request that no record guards. True: the client's connection may be used for
/// another request. `observed` follows how the request goes; null: nobody does.
boost::asio::awaitable<bool> forward_unguarded(session& session,
                                               observed_request* observed = nullptr);

}  // namespace onceguard::gateway
