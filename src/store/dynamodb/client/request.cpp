#include "store/dynamodb/client/request.hpp"

#include <utility>

namespace onceguard::dynamodb {

boost::asio::awaitable<std::vector<request>> send_all(std::shared_ptr<batch_queue> queue,
                                                      std::vector<request> requests,
                                                      milliseconds timeout) {
  if (requests.empty()) co_return std::vector<request>();
  // The client gives up a little before the caller does, and then knows what became of a request.
  const auto inner = timeout - timeout / 20;
  const auto whole = std::make_shared<job>(std::move(requests), inner);
  const auto size = whole->parts.size();
  co_await perform(whole, std::move(queue), timeout);
  if (!whole->lapse()) co_return std::move(whole->parts);
  std::vector<request> out(size);
  for (auto& each : out) each.failed = *whole->lapse();
  co_return out;
}

boost::asio::awaitable<request> send_one(std::shared_ptr<batch_queue> queue, request single,
                                         milliseconds timeout) {
  std::vector<request> requests;
  requests.push_back(std::move(single));
  auto done = co_await send_all(std::move(queue), std::move(requests), timeout);
  co_return std::move(done.front());
}

}  // namespace onceguard::dynamodb
