#include "wire.hpp"

#include <utility>

namespace onceguard::sim {

void wire::arrive(sequence& direction, std::uint64_t number, std::function<void()> act) {
  if (number < direction.next) return;  // it came before
  direction.early.emplace(number, std::move(act));
  for (;;) {
    const auto first = direction.early.begin();
    if (first == direction.early.end() || first->first != direction.next) return;
    const auto next = std::move(first->second);
    direction.early.erase(first);
    ++direction.next;
    next();
  }
}

void wire::to_service(message_kind kind, std::function<void()> act) {
  world_.send(client_, service_.host(), kind,
              [self = shared_from_this(), number = forth_.sent++, act = std::move(act)] {
                arrive(self->forth_, number, act);
              });
}

void wire::to_client(message_kind kind, std::function<void()> act) {
  world_.send(service_.host(), client_, kind,
              [self = shared_from_this(), number = back_.sent++, act = std::move(act)] {
                arrive(self->back_, number, act);
              });
}

bool wire::breaks() {
  if (world_.next_of(disturbance_kind::hang_up) == nullptr) return false;
  // Behind nothing that is on its way.
  world_.send(client_, service_.host(), message_kind::connection_end,
              [self = shared_from_this()] { self->end_at_service(); });
  refuse();
  return true;
}

void wire::refuse() {
  world_.send(service_.host(), client_, message_kind::connection_end,
              [self = shared_from_this()] { self->end_at_client(); });
}

void wire::send(std::string bytes) {
  if (closed_ || breaks()) return;
  if (!service_.listens()) {
    return world_.after_on(client_, millisecond,
                           [self = shared_from_this()] { self->end_at_client(); });
  }
  to_service(message_kind::call, [this, bytes = std::move(bytes)] {
    if (!opened_) open();
    if (socket_ < 0) return refuse();
    virtual_kernel::current()->arrive(socket_, bytes);
  });
}

void wire::close() {
  if (std::exchange(closed_, true)) return;
  on_change = nullptr;
  to_service(message_kind::connection_end, [this] { end_at_service(); });
}

void wire::open() {
  opened_ = true;
  socket_peer client;
  client.receive = [self = shared_from_this()](std::string bytes) {
    if (self->breaks()) return;
    self->to_client(message_kind::call_answer, [self, bytes = std::move(bytes)] {
      self->received_ += bytes;
      if (self->on_change) self->on_change();
    });
  };
  client.end = [self = shared_from_this()] {
    self->socket_ = -1;
    self->to_client(message_kind::connection_end, [self] { self->end_at_client(); });
  };
  socket_ = virtual_kernel::current()->open_socket(std::move(client));
  service_.accept(socket_);
}

void wire::end_at_service() {
  opened_ = true;  // what comes behind it meets no listener
  if (socket_ >= 0) virtual_kernel::current()->arrive_end(socket_);
}

void wire::end_at_client() {
  ended_ = true;
  if (on_change) on_change();
}

}  // namespace onceguard::sim
