#include "config/stores.hpp"

#include "store/memory/memory_store.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/redis/redis_store.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace onceguard::config {

const store_registry& known_stores() {
  static const store_registry all = [] {
    store_registry made;
    made.add("memory", make_memory_store);
    made.add("sqlite", make_sqlite_store);
    made.add("postgresql", make_postgres_store);
    made.add("postgres", make_postgres_store);
    made.add("redis", make_redis_store);
    made.add("rediss", make_redis_store);
    return made;
  }();
  return all;
}

}  // namespace onceguard::config
