// The store's table: made by a command, and looked at before a store uses it.
#pragma once
#include <optional>

#include <onceguard/error.hpp>

#include "aws/credential_source.hpp"
#include "store/dynamodb/dynamodb_params.hpp"
#include "store/registry.hpp"

namespace onceguard::dynamodb {

/// The version of the table's form: of its keys, its attributes and the store's own item.
inline constexpr int table_version = 1;

/// Why a store can't use the table. Blocks. errc::store_unreachable: there is none, it is being
/// made, or it has not the store's own item; errc::invalid_argument: it is another program's, or a
/// newer version's.
[[nodiscard]] std::optional<error> check_table(const address& target,
                                               aws::credential_source& credentials,
                                               milliseconds timeout);

/// The error for a table without the store's own item.
[[nodiscard]] error metadata_missing(const address& target);

/// `migrate` makes the table, waits until it can be used, lets DynamoDB remove what has expired,
/// and puts the store's own item into it.
[[nodiscard]] const store_kind::schema_tools& table_tools() noexcept;

}  // namespace onceguard::dynamodb
