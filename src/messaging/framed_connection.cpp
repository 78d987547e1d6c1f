#include "messaging/framed_connection.hpp"

#include <array>
#include <utility>

namespace onceguard::messaging {
namespace {

constexpr std::size_t read_size = 65'536;

}  // namespace

error framed_connection::fault(errc code, std::string_view why) const {
  return {code, where_.name() + ": " + std::string(why)};
}

result<void> framed_connection::state() const {
  if (broken_) return *broken_;
  return {};
}

void framed_connection::end(error why) {
  if (!broken_) broken_ = std::move(why);
  socket_.close();
  outgoing_.clear();
  written_ = 0;
}

error framed_connection::give_up() {
  if (!broken_) end(fault(errc::broker_unreachable, "no answer in time"));
  return *broken_;
}

result<void> framed_connection::connect(const std::optional<tls::client_files>& files,
                                        moment until) {
  last_arrival_ = last_sent_ = base::boot_now();
  if (auto done = socket_.connect(where_.host, where_.port, files, until); !done) {
    end(fault(done.error().code, done.error().detail));
  }
  return framed_connection::state();
}

void framed_connection::await_end(moment until) {
  // Until the other end closes: a socket that is closed with bytes unread makes the system send a
  // reset, after which the server may never read the last acknowledgements.
  while (!broken_ && base::boot_now() < until) static_cast<void>(wait(until));
  end(fault(errc::broker_unreachable, "the connection is closed"));
}

result<void> framed_connection::flush(moment until) {
  static_cast<void>(advance());
  return wait_for([this] { return !pending(); }, until);
}

result<void> framed_connection::advance() {
  read_arrived();
  write_outgoing();
  return state();
}

result<void> framed_connection::wait(moment until) {
  write_outgoing();
  if (!broken_) socket_.wait(pending() && takes_bytes(), until);
  return advance();
}

void framed_connection::write_outgoing() {
  while (!broken_ && pending() && takes_bytes()) {
    const auto count = socket_.write(unsent());
    if (!count) {
      // The broker may have said why before it closed the connection.
      read_arrived();
      end(fault(errc::broker_unreachable, count.error().detail));
      return;
    }
    if (*count == 0) break;
    written_ += *count;
    last_sent_ = base::boot_now();
  }
  if (written_ <= outgoing_.size() / 2) return;
  outgoing_.erase(0, written_);
  written_ = 0;
}

void framed_connection::read_arrived() {
  std::array<char, read_size> buffer;
  while (!broken_) {
    const auto count = socket_.read(buffer);
    if (!count) {
      end(fault(errc::broker_unreachable, count.error().detail + end_hint()));
      return;
    }
    if (*count == 0) return;
    last_arrival_ = base::boot_now();
    take_bytes({buffer.data(), *count});
  }
}

}  // namespace onceguard::messaging
