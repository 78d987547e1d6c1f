// Calls of a store that got an error which does not say whether they were carried out. After a
// crash the disk says it.
#pragma once
#include <variant>
#include <vector>

#include <onceguard/store.hpp>

namespace onceguard::sim {

class calls_in_doubt {
 public:
  using call = std::variant<claim, settlement, extension, resolution>;

  void add(call failed) { calls_.push_back(std::move(failed)); }
  void clear() { calls_.clear(); }
  /// Whose records are to be looked at, each once.
  [[nodiscard]] std::vector<record_id> records() const;
  /// Those on the record that were carried out, in their order. `noted` is its last lease that is
  /// known.
  [[nodiscard]] std::vector<call> carried_out(const record_view& found, token noted) const;

 private:
  std::vector<call> calls_;
};

}  // namespace onceguard::sim
