#include "cli/services/opened_guard.hpp"

#include "base/log.hpp"
#include "base/stoppable_wait.hpp"
#include "config/stores.hpp"

namespace onceguard::cli::services {
namespace {

constexpr milliseconds store_retry{1'000};

}  // namespace

result<std::optional<guard>> open_guard(const config::settings& settings,
                                        const guard_params& params, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    auto store = config::open_store(settings);
    if (!store) return store.error();
    auto opened = guard::open(std::unique_ptr<onceguard::store>(std::move(*store)), params);
    if (opened) return std::optional(std::move(*opened));
    if (!opened.error().retryable()) return opened.error();
    base::log(base::event::store_not_opened,
              {{"store", settings.store.url.substr(0, settings.store.url.find(':'))},
               {"why", opened.error().detail}});
    base::wait_unless(stop, store_retry);
  }
  return std::optional<guard>();
}

}  // namespace onceguard::cli::services
