#include "config/remark.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace onceguard::config {

std::string origin::text() const {
  if (line == 0) return name;
  return name + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::string remark::text() const {
  std::string out = at.text();
  if (!out.empty()) out += ": ";
  if (weight == grade::warning) out += "warning: ";
  if (weight == grade::note) out += "note: ";
  return out + what;
}

void put_in_order(remarks& list) {
  const auto rank = [](const remark& r) {
    // The options of routes are in the same file as all others.
    const auto where = r.at.where == layer::route ? layer::file : r.at.where;
    return std::tuple(where, r.at.line, r.at.column, std::string_view(r.at.name));
  };
  std::stable_sort(list.begin(), list.end(), [&](const auto& a, const auto& b) {
    return std::tuple_cat(rank(a), std::tuple(std::string_view(a.what))) <
           std::tuple_cat(rank(b), std::tuple(std::string_view(b.what)));
  });
  const auto same = [](const remark& a, const remark& b) {
    return a.weight == b.weight && a.text() == b.text();
  };
  list.erase(std::unique(list.begin(), list.end(), same), list.end());
}

}  // namespace onceguard::config
