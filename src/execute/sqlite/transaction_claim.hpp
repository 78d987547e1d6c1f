// Gets a transaction in which `execute` holds the claim.
#pragma once
#include "execute/sqlite/caller_transaction.hpp"

namespace onceguard::sqlite {

/// Claims in a transaction. For kind `run` the transaction is left open; else nothing was written.
[[nodiscard]] result<claimed> begin_and_claim(connection& connection,
                                              caller_transaction& transaction, const claim& request,
                                              const execute_policy& policy);

}  // namespace onceguard::sqlite
