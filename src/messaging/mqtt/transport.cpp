#include "messaging/mqtt/transport.hpp"

#include <array>

#include "messaging/mqtt/tls_session.hpp"

namespace onceguard::messaging::mqtt {
namespace {

constexpr std::size_t read_size = 65'536;

}  // namespace

transport::transport() = default;
transport::~transport() = default;

void transport::close() noexcept {
  socket_.close();
  outgoing_.clear();
  written_ = 0;
}

result<void> transport::open(const address& peer, moment until) {
  if (peer.tls) {
    auto made = tls_session::make(*peer.tls, peer.url.host);
    if (!made) return made.error();
    tls_ = *std::move(made);
  }
  if (auto done = socket_.connect(peer.url.host, peer.url.port, until); !done) return done;
  return tls_ ? agree(until) : result<void>();
}

result<void> transport::agree(moment until) {
  std::array<char, read_size> buffer;
  while (true) {
    const auto done = tls_->shake_hands();
    tls_->move_outgoing(outgoing_);
    if (auto written = write(); !written) return written.error();
    if (!done) return done.error();
    if (*done) return {};
    if (base::boot_now() >= until) {
      return error(errc::broker_unreachable, "no answer in time amid the TLS handshake");
    }
    wait(until);
    const auto count = socket_.read(buffer);
    if (!count) return count.error();
    tls_->take({buffer.data(), *count});
  }
}

void transport::add(std::string_view bytes) {
  if (!tls_) {
    outgoing_ += bytes;
  } else if (tls_->write(bytes)) {
    tls_->move_outgoing(outgoing_);
  }
  // Otherwise the session has failed, and a read says so.
}

result<std::size_t> transport::write() {
  std::size_t all = 0;
  while (pending()) {
    const auto count = socket_.write(std::string_view(outgoing_).substr(written_));
    if (!count) return count.error();
    if (*count == 0) break;
    written_ += *count;
    all += *count;
  }
  if (written_ > outgoing_.size() / 2) {
    outgoing_.erase(0, written_);
    written_ = 0;
  }
  return all;
}

result<std::size_t> transport::read(std::span<char> buffer) {
  if (!tls_) return socket_.read(buffer);
  while (true) {
    const auto plain = tls_->read(buffer);
    tls_->move_outgoing(outgoing_);  // the protocol's own answers
    if (!plain || *plain > 0) return plain;
    std::array<char, read_size> arrived;
    const auto count = socket_.read(arrived);
    if (!count || *count == 0) return count;
    tls_->take({arrived.data(), *count});
  }
}

}  // namespace onceguard::messaging::mqtt
