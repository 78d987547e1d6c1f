#include "config/table_reader.hpp"

#include <algorithm>

#include "config/texts.hpp"

namespace onceguard::config {
namespace {

/// The section that has an option with this name; empty if none.
std::string_view home_of(std::string_view name) {
  for (const auto& s : sections()) {
    for (const auto* o : s.options) {
      if (o->name == name) return s.title;
    }
  }
  return {};
}

std::string advice(std::string_view name, const std::vector<const option*>& known) {
  std::vector<std::string_view> names;
  names.reserve(known.size());
  for (const auto* o : known) {
    if (o->former_name == name) return "; its name is \"" + std::string(o->name) + "\" now";
    names.push_back(o->name);
  }
  if (const auto home = home_of(name); !home.empty()) {
    return "; it belongs in " + std::string(home);
  }
  if (const auto meant = nearest(name, names); !meant.empty()) {
    return "; did you mean \"" + std::string(meant) + "\"?";
  }
  return {};
}

}  // namespace

std::vector<setting> read_table(const std::vector<const option*>& known, const node& table,
                                std::string_view title, const std::string& file, layer where,
                                remarks& out) {
  std::vector<setting> read;
  for (const auto& entry : table.members) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const option* o) { return o->name == entry.name; });
    if (found == known.end()) {
      out.push_back({remark::grade::fault,
                     {where, file, entry.line, entry.column},
                     std::string(title) + " unknown option " + quoted(entry.name) +
                         advice(entry.name, known)});
      continue;
    }
    if (auto value = read_node(**found, entry.value, file, where, title, out)) {
      read.push_back(
          {*found, *std::move(value), {where, file, entry.value.line, entry.value.column}});
    }
  }
  return read;
}

std::vector<setting> default_settings(const std::vector<const option*>& known) {
  std::vector<setting> read;
  remarks none;
  for (const auto* o : known) {
    if (auto value = read_text(*o, o->fallback, {}, {}, none)) {
      read.push_back({o, *std::move(value), {}});
    }
  }
  return read;
}

std::vector<setting> named_settings(const std::vector<const option*>& known, layer where,
                                    const std::map<std::string, std::string, std::less<>>& texts,
                                    remarks& out) {
  std::vector<setting> read;
  for (const auto* o : known) {
    if (o->flag.empty()) continue;
    const bool flag = where == layer::flag;
    const auto name = flag ? std::string(o->flag) : o->variable();
    const auto found = texts.find(name);
    if (found == texts.end() || (!flag && found->second.empty())) continue;
    const origin origin{where, flag ? "--" + name : name};
    // The name of a flag or variable is unique, so no title precedes it.
    if (auto value = read_text(*o, found->second, origin, {}, out)) {
      read.push_back({o, *std::move(value), origin});
    }
  }
  return read;
}

}  // namespace onceguard::config
