#include "serve/long_answers.hpp"

#include "core/record_id_hash.hpp"

namespace onceguard::serve {

void long_answers::note(const record_id& id, std::size_t bytes) {
  if (bytes < long_message) return;
  known_.update(record_id_hash()(id), [bytes](std::uint64_t& known, bool) { known = bytes; });
}

std::size_t long_answers::bytes_of(const record_id& id) const {
  return static_cast<std::size_t>(known_.find(record_id_hash()(id)).value_or(0));
}

}  // namespace onceguard::serve
