// The hash of a record's id, for tables in memory.
#pragma once
#include <cstddef>
#include <cstring>

#include <onceguard/record.hpp>

namespace onceguard {

struct record_id_hash {
  std::size_t operator()(const record_id& id) const noexcept {
    std::size_t out = 0;  // the id is a SHA-256: any part of it is a good hash
    std::memcpy(&out, id.data(), sizeof out);
    return out;
  }
};

}  // namespace onceguard
