#include "gateway/jwt_thread.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

asio::awaitable<void> verify_here(std::shared_ptr<const token_verifier> verifier,
                                  std::string token) {
  static_cast<void>(verifier->verify(token, "sub"));
  co_return;
}

}  // namespace

jwt_thread::~jwt_thread() {
  if (!pool_) return;
  pool_->stop();
  pool_->join();
}

asio::awaitable<void> jwt_thread::verify(std::shared_ptr<const token_verifier> verifier,
                                         std::string token) {
  if (!pool_) pool_ = std::make_unique<asio::thread_pool>(1);
  auto work = verify_here(std::move(verifier), std::move(token));
  co_await asio::co_spawn(pool_->get_executor(), std::move(work), asio::use_awaitable);
}

}  // namespace onceguard::gateway
