// The shared store in Amazon DynamoDB by its URL: what it is, how it is opened and examined.
#include <array>

#include "store/dynamodb/dynamodb_store.hpp"
#include "store/dynamodb/examine.hpp"
#include "store/dynamodb/table/table_setup.hpp"
#include "store/linked_stores.hpp"
#include "store/staleness.hpp"

namespace onceguard {

const store_kind& dynamodb_store_kind() noexcept {
  static constexpr std::array<std::string_view, 1> schemes{"dynamodb"};
  static const store_kind kind{
      .schemes = schemes,
      .position = 5,
      .example = dynamodb::url_example,
      .library = "libcurl.so",
      .traits = {.name = "dynamodb"},
      .generation_lag = 3 * poll_interval,  // each poll counts what was written before it
      .open = [](const store_params& params) -> result<std::unique_ptr<store>> {
        auto opened = dynamodb::dynamodb_store::open({.url = params.url,
                                                      .timeout = params.timeout,
                                                      .connections = params.connections,
                                                      .clock = params.clock});
        if (!opened) return opened.error();
        return std::unique_ptr<store>(std::move(*opened));
      },
      .url_fault =
          [](std::string_view url) {
            const auto parsed = dynamodb::parse_address(url);
            return parsed ? std::string() : parsed.error().detail;
          },
      .schema = &dynamodb::table_tools(),
      .examine = dynamodb::examine,
  };
  return kind;
}

ONCEGUARD_REGISTER_STORE(dynamodb);

}  // namespace onceguard
