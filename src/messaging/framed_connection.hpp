// A connection to a broker whose protocol an adapter speaks itself: bytes on their way, either way,
// over one socket. One thread at a time. It never connects again by itself: nobody would learn what
// became of what was on its way.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "messaging/broker_url.hpp"
#include "tls/blocking_socket.hpp"

namespace onceguard::messaging {

using tls::moment;

class framed_connection {
 public:
  framed_connection(const framed_connection&) = delete;
  framed_connection& operator=(const framed_connection&) = delete;
  virtual ~framed_connection() = default;

  /// The error that ended the connection: errc::broker_unreachable, or the protocol's reason. The
  /// calls below return it, too.
  [[nodiscard]] virtual result<void> state() const;
  [[nodiscard]] bool connected() const noexcept { return !broken_; }

  /// What is sent next.
  [[nodiscard]] std::string& outgoing() noexcept { return outgoing_; }
  void add(std::string_view bytes) { outgoing_ += bytes; }
  /// Whether something is left to be sent.
  [[nodiscard]] bool pending() const noexcept { return written_ < outgoing_.size(); }
  /// Until everything is sent.
  [[nodiscard]] result<void> flush(moment until);
  /// Sends and takes what is possible without a wait.
  [[nodiscard]] result<void> advance();
  /// Waits until that may do something, or the time is over; and does it.
  [[nodiscard]] result<void> wait(moment until);
  /// Until that is true. errc::broker_unreachable: the time is over.
  template <class Condition>
  [[nodiscard]] result<void> wait_for(Condition is_true, moment until) {
    while (!is_true()) {
      if (auto usable = state(); !usable) return usable;
      if (base::boot_now() >= until) return give_up();
      static_cast<void>(wait(until));
    }
    return state();
  }
  /// Ends the connection since the broker does not answer in time; returns the error.
  error give_up();
  /// What is wrong, and where.
  [[nodiscard]] error fault(errc code, std::string_view why) const;
  [[nodiscard]] moment last_arrival() const noexcept { return last_arrival_; }

 protected:
  /// Connects nothing yet. The URL must outlive it.
  explicit framed_connection(const broker_url& where) : where_(where) {}

  [[nodiscard]] result<void> connect(const std::optional<tls::client_files>& files, moment until);
  void end(error why);
  /// The goodbye has been added: waits until the broker has ended the connection. Without this the
  /// system would reset a connection from which not everything was read, and the broker might never
  /// see the last acknowledgements.
  void await_end(moment until);
  /// As much as the system takes of what is left, though the connection ends in any case.
  void write_last() { static_cast<void>(socket_.write(unsent())); }

  /// What arrived.
  virtual void take_bytes(std::string_view bytes) = 0;
  /// Why the broker may have closed the connection just now: the end of a sentence.
  [[nodiscard]] virtual std::string end_hint() const { return {}; }
  /// Whether the broker takes what is sent.
  [[nodiscard]] virtual bool takes_bytes() const { return true; }

  std::optional<error> broken_;
  moment last_arrival_{};
  moment last_sent_{};

 private:
  [[nodiscard]] std::string_view unsent() const {
    return std::string_view(outgoing_).substr(written_);
  }
  void read_arrived();
  void write_outgoing();

  const broker_url& where_;
  tls::blocking_socket socket_;
  std::string outgoing_;
  std::size_t written_ = 0;  ///< of outgoing_
};

}  // namespace onceguard::messaging
