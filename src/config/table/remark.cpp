#include "config/table/remark.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace onceguard::config {

std::string origin::text() const {
  if (line == 0) return name;
  return name + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::string remark::text() const {
  std::string out = position.text();
  if (!out.empty()) out += ": ";
  if (weight == grade::warning) out += "warning: ";
  if (weight == grade::note) out += "note: ";
  return out + message;
}

void put_in_order(remarks& list) {
  const auto rank = [](const remark& r) {
    // The options of routes are in the same file as all others.
    const auto where = r.position.where == layer::route ? layer::file : r.position.where;
    return std::tuple(where, r.position.line, r.position.column, std::string_view(r.position.name));
  };
  std::stable_sort(list.begin(), list.end(), [&](const auto& a, const auto& b) {
    return std::tuple_cat(rank(a), std::tuple(std::string_view(a.message))) <
           std::tuple_cat(rank(b), std::tuple(std::string_view(b.message)));
  });
  const auto same = [](const remark& a, const remark& b) {
    return a.weight == b.weight && a.text() == b.text();
  };
  list.erase(std::unique(list.begin(), list.end(), same), list.end());
}

}  // namespace onceguard::config
