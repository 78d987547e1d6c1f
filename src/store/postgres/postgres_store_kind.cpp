// The shared store in PostgreSQL by its URL: what it is, how it is opened and examined.
#include <array>

#include "store/linked_stores.hpp"
#include "store/postgres/examine.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/schema.hpp"

namespace onceguard {

const store_kind& postgres_store_kind() noexcept {
  static constexpr std::array<std::string_view, 2> schemes{"postgresql", "postgres"};
  static constexpr store_kind::schema_tools schema{
      .migrate =
          [](const store_params& params, bool finish) {
            return postgres::migrate_database(params.url, params.timeout, finish);
          },
      .script = postgres::migration_script,
  };
  static const store_kind kind{
      .schemes = schemes,
      .position = 3,
      .example = "postgresql://HOST/DATABASE",
      .library = "libpq.so",
      .traits = {.name = "postgres", .transactional = true},
      .takes_accelerator = true,
      .answers_queries = true,
      .open = [](const store_params& params) -> result<std::unique_ptr<store>> {
        auto opened = postgres::postgres_store::open({.url = params.url,
                                                      .timeout = params.timeout,
                                                      .clock = params.clock,
                                                      .connections = params.connections});
        if (!opened) return opened.error();
        return std::unique_ptr<store>(std::move(*opened));
      },
      .url_fault = [](std::string_view url) -> std::string {
        const bool right = url.substr(url.find(':')).starts_with("://");
        if (!right) return "expected \"postgresql://HOST/DATABASE\"";
        const auto parsed = postgres::parse_conninfo(std::string(url), {});
        return parsed ? std::string() : parsed.error().detail;
      },
      .index_keys =
          [](const store_params& params, bool drop) {
            return postgres::index_keys(params.url, params.timeout, drop);
          },
      .schema = &schema,
      .examine = [](const store_params& params, store_role) { return postgres::examine(params); },
  };
  return kind;
}

ONCEGUARD_REGISTER_STORE(postgres);

}  // namespace onceguard
