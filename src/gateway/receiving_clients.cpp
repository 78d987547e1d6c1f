#include "gateway/receiving_clients.hpp"

#include <chrono>

#include <boost/asio/post.hpp>

namespace onceguard::gateway {

namespace {

/// Whoever reads at the speed of a network has a long answer in this time.
constexpr std::chrono::seconds grace{1};

}  // namespace

receiving_clients::reading::reading(receiving_clients& all, boost::asio::io_context& io,
                                    tls::async_socket& socket)
    : all_(all), listed_(std::make_shared<entry>(entry{io, &socket, base::boot_now()})) {
  const std::lock_guard lock(all_.mutex_);
  listed_->position = all_.all_.insert(all_.all_.end(), listed_);
}

receiving_clients::reading::~reading() {
  // On the thread of the socket, to which cut_slowest() posts: no abort meets a socket that is
  // gone.
  listed_->socket = nullptr;
  const std::lock_guard lock(all_.mutex_);
  if (listed_->listed) all_.all_.erase(listed_->position);
}

bool receiving_clients::cut_slowest() {
  std::shared_ptr<entry> slowest;
  {
    const std::lock_guard lock(mutex_);
    if (all_.empty() || base::boot_now() - all_.front()->since < grace) return false;
    slowest = std::move(all_.front());
    slowest->listed = false;
    all_.pop_front();
  }
  auto& io = slowest->io;
  boost::asio::post(io, [slowest = std::move(slowest)] {
    if (slowest->socket != nullptr) slowest->socket->abort();
  });
  return true;
}

}  // namespace onceguard::gateway
