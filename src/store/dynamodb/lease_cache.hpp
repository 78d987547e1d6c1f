// A lease that this process got, as its settle needs it.
#pragma once

#include "store/dynamodb/wire/item.hpp"
#include "store/dynamodb/wire/payload.hpp"
#include "store/lease_cache.hpp"

namespace onceguard::dynamodb {

/// A record as this process has written it.
struct cached_lease {
  stored_record stored;  ///< with points in time of this process's clock
  item written;
};

using lease_cache = onceguard::lease_cache<cached_lease>;

}  // namespace onceguard::dynamodb
