// What DynamoDB says of a table, and whether it is one of this store's.
#pragma once
#include <optional>
#include <string>

#include <onceguard/error.hpp>

#include "store/dynamodb/table/blocking_calls.hpp"

namespace onceguard::dynamodb {

struct table_facts {
  bool exists = false;
  bool active = false;  ///< it can be used: neither it nor its index is being made
  std::string fault;    ///< why it is no table of this store's; empty: it is one
  bool protected_from_deletion = false;
  std::optional<std::int64_t> date;  ///< of the service's clock when it answered
};
[[nodiscard]] result<table_facts> describe_table(blocking_calls& calls);

/// Whether DynamoDB removes items that have expired, by the attribute `ttl`.
[[nodiscard]] result<bool> expires_items(blocking_calls& calls);

/// Of CreateTable.
[[nodiscard]] std::string table_definition(const std::string& table);

}  // namespace onceguard::dynamodb
