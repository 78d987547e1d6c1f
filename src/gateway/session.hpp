// One client connection: its requests, one after the other.
#pragma once
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "gateway/client_pace.hpp"
#include "gateway/client_writer.hpp"
#include "gateway/io_thread.hpp"
#include "gateway/timed_socket.hpp"
#include "http/admission.hpp"
#include "http/problem.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

/// Lives on one I/O thread, from accept to close.
class session {
 public:
  session(io_thread& thread, tcp::socket socket);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  /// Serves until the connection ends.
  static boost::asio::awaitable<void> run(std::unique_ptr<session> self);

  /// While draining: a connection is closed that is idle, or whose request has not come whole by
  /// the time that it had for that; another one after its answer.
  void drain() noexcept;

  // For the exchanges that a session hands its requests to.
  [[nodiscard]] io_thread& thread() noexcept { return thread_; }
  [[nodiscard]] timed_socket& stream() noexcept { return stream_; }
  [[nodiscard]] http1::reader& reader() noexcept { return reader_; }
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
  [[nodiscard]] bool peer_trusted() const noexcept { return peer_trusted_; }
  [[nodiscard]] const route& rule() const noexcept { return *rule_; }
  /// Has a reload given the request another scope since its head came?
  [[nodiscard]] bool scope_changed() const;

  /// Reads on until next() has more to say than need_more. Failure: `error` of the reader, or
  /// progress::need_more where the connection ended or the client was too slow.
  boost::asio::awaitable<http1::progress> advance(milliseconds timeout);
  /// Was it that the request's body did not come in time?
  [[nodiscard]] bool client_too_slow() const noexcept { return too_slow_; }
  /// As far as what was read already goes: need_more then.
  http1::progress advance_now();

  /// May the connection be kept after this answer, as far as the request and the server go?
  [[nodiscard]] answer_style style(bool replayed = false) const noexcept;
  /// A whole answer. False where the client could not be written to.
  boost::asio::awaitable<bool> send(const answer& answer, answer_style style,
                                    const extra_fields& extra = {});
  boost::asio::awaitable<bool> send_problem(http::problem which, http::problem_detail more);
  /// A problem that comes before the request's body was read: says that the connection closes,
  /// and what still comes is read and dropped for a while, so that the client gets to see it.
  boost::asio::awaitable<bool> refuse(http::problem which, http::problem_detail more);
  /// What still comes of the request is passed on as it comes.
  void begin_upload() noexcept { uploading_ = true; }
  /// After an answer that came before the whole request: what still comes is read and dropped for
  /// a while, so that the client gets to see the answer.
  boost::asio::awaitable<void> linger();
  /// Is all of the request consumed, so that another one can follow?
  [[nodiscard]] bool request_consumed() const noexcept { return consumed_; }
  void set_consumed() noexcept { consumed_ = true; }

 private:
  boost::asio::awaitable<void> serve();
  boost::asio::awaitable<http1::progress> read_head();
  boost::asio::awaitable<bool> handle();  // true: another request may follow
  /// Does the gateway end before this request has come?
  [[nodiscard]] bool too_late_to_read() const noexcept;

  io_thread& thread_;
  timed_socket stream_;
  http1::reader reader_;
  std::string peer_;
  bool peer_trusted_ = false;
  bool idle_ = true;
  bool reading_ = false;  // waits for the client to go on with its request
  bool uploading_ = false;
  bool sending_ = false;  // an answer that is stored, or a problem: the client can have it again
  bool consumed_ = false;
  bool too_slow_ = false;
  client_pace pace_;
  routing_ptr routing_;  // of the running request
  const route* rule_ = nullptr;
  http::scope_memo scope_;
  std::string out_;
};

}  // namespace onceguard::gateway
