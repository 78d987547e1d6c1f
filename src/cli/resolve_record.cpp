#include "cli/resolve_record.hpp"

#include <iostream>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "cli/commands.hpp"
#include "cli/store_work.hpp"
#include "config/texts.hpp"
#include "store/staleness.hpp"

namespace onceguard::cli {

boost::asio::awaitable<int> resolve_record(store& records, resolution request,
                                           milliseconds timeout) {
  const bool completes = request.completed;
  const auto resolved = co_await records.resolve(std::move(request), timeout);
  if (!resolved) co_return complain(resolved.error());
  switch (resolved->outcome) {
    case resolve_outcome::done:
      break;
    case resolve_outcome::not_found:
      std::cerr << "onceguard: the record is gone\n";
      co_return exit_not_found;
    case resolve_outcome::running:
      std::cerr << "onceguard: it may still be running, for up to "
                << config::duration_text(resolved->retry_after)
                << "; try again then, or use --force if you know that it is not\n";
      co_return exit_failed;
    case resolve_outcome::already_completed:
      std::cerr << "onceguard: it is completed already, and stays as it is: an answer that was "
                   "kept is never replaced; one that is missing takes --status, --header or "
                   "--body\n";
      co_return exit_failed;
  }
  if (resolved->forgets_answer) {
    std::cerr << "waiting " << config::duration_text(stale_after)
              << ", until no gateway can answer as before from its memory …\n";
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    timer.expires_after(stale_after);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
  std::cout << (completes ? "completed\n"
                          : "released: the next request with this key runs the operation again\n");
  co_return exit_ok;
}

}  // namespace onceguard::cli
