// The fast shared store by its URL: what it is, how it is opened and examined.
#include <array>

#include "store/linked_stores.hpp"
#include "store/redis/examine.hpp"
#include "store/redis/redis_store.hpp"

namespace onceguard {

const store_kind& redis_store_kind() noexcept {
  static constexpr std::array<std::string_view, 12> schemes{
      "redis",           "rediss",           "redis+sentinel", "rediss+sentinel",
      "redis+cluster",   "rediss+cluster",   "valkey",         "valkeys",
      "valkey+sentinel", "valkeys+sentinel", "valkey+cluster", "valkeys+cluster"};
  static const store_kind kind{
      .schemes = schemes,
      .position = 4,
      .example = "redis://HOST",
      .library = "libhiredis.so",
      .traits = {.name = "redis"},
      .open = [](const store_params& params) -> result<std::unique_ptr<store>> {
        auto opened = redis::redis_store::open(
            {.url = params.url, .timeout = params.timeout, .clock = params.clock});
        if (!opened) return opened.error();
        return std::unique_ptr<store>(std::move(*opened));
      },
      // The parser's texts describe the fault without repeating the URL.
      .url_fault =
          [](std::string_view url) {
            const auto parsed = redis::parse_address(std::string(url));
            return parsed ? std::string() : parsed.error().detail;
          },
      .accelerator_fault = [](std::string_view url) -> std::string {
        const auto parsed = redis::parse_address(std::string(url));
        if (!parsed) return parsed.error().detail;
        if (parsed->servers == redis::deployment::single) return {};
        return "an accelerator is one server: expected \"redis://HOST\"";
      },
      .examine = redis::examine,
  };
  return kind;
}

ONCEGUARD_REGISTER_STORE(redis);

}  // namespace onceguard
