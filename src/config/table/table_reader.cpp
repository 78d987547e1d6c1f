#include "config/table/table_reader.hpp"

#include <algorithm>

#include "config/table/parsers.hpp"
#include "config/table/secret_file.hpp"

namespace onceguard::config {
namespace {

std::string advice(const reading& source, std::string_view name,
                   const std::vector<const option*>& known) {
  std::vector<std::string_view> names;
  names.reserve(known.size());
  for (const auto* o : known) {
    if (o->former_name == name) return "; its name is \"" + std::string(o->name) + "\" now";
    if (source.knows(*o)) names.push_back(o->name);
  }
  if (const auto home = source.home_of(name); !home.empty()) {
    return "; it belongs in " + std::string(home);
  }
  if (const auto meant = nearest(name, names); !meant.empty()) {
    return "; did you mean \"" + std::string(meant) + "\"?";
  }
  return {};
}

bool is_table_array(const node& n) {
  return n.kind == node::type::array &&
         std::all_of(n.items.begin(), n.items.end(),
                     [](const node& i) { return i.kind == node::type::table; });
}

/// Whether an earlier entry of the same table, or of the same layer, has set the option.
bool is_set(const std::vector<setting>& read, const option& spec) {
  return std::any_of(read.begin(), read.end(), [&](const setting& s) { return s.spec == &spec; });
}

std::string both_given(const option& spec) {
  return " " + std::string(spec.name) + " and " + file_name_of(spec) +
         " are both given; choose one";
}

}  // namespace

void check_table_names(const reading& source, const node& document,
                       std::span<const std::string_view> tables, remarks& out) {
  for (const auto& entry : document.members) {
    if (std::find(tables.begin(), tables.end(), entry.name) != tables.end()) continue;
    std::string advice;
    if (const auto home = source.home_of(entry.name); !home.empty()) {
      advice = "; it belongs in " + std::string(home);
    } else if (const auto meant = nearest(entry.name, tables); !meant.empty()) {
      advice = "; did you mean \"" + std::string(meant) + "\"?";
    }
    out.push_back({remark::grade::fault,
                   {layer::file, source.file, entry.line, entry.column},
                   (entry.value.kind == node::type::table ? "unknown table " : "unknown option ") +
                       quoted(entry.name) + advice});
  }
}

const node* find_table(const reading& source, const node& document, std::string_view name,
                       bool repeated, remarks& out) {
  for (const auto& entry : document.members) {
    if (entry.name != name) continue;
    const bool fits =
        repeated ? is_table_array(entry.value) : entry.value.kind == node::type::table;
    if (fits) return &entry.value;
    const std::string brackets = repeated ? "[[" + entry.name + "]]" : "[" + entry.name + "]";
    out.push_back({remark::grade::fault,
                   {layer::file, source.file, entry.line, entry.column},
                   quoted(name) + " is written as the table " + brackets});
  }
  return nullptr;
}

std::vector<setting> read_table(const reading& source, const std::vector<const option*>& known,
                                const node& table, std::string_view title, layer where,
                                remarks& out) {
  std::vector<setting> read;
  for (const auto& entry : table.members) {
    const auto refuse = [&](std::string_view before, const std::string& after) {
      out.push_back({remark::grade::fault,
                     {where, source.file, entry.line, entry.column},
                     std::string(title) + std::string(before) + after});
    };
    const auto named = std::find_if(known.begin(), known.end(),
                                    [&](const option* o) { return o->name == entry.name; });
    const bool in_file = named == known.end();
    const auto* spec = in_file ? option_of_file(known, entry.name) : *named;
    if (spec == nullptr) {
      refuse(" unknown option ", quoted(entry.name) + advice(source, entry.name, known));
      continue;
    }
    if (!source.knows(*spec)) {
      refuse(" ", entry.name + (source.door == front_door::gateway
                                    ? ": is for services that use the library, not for the gateway"
                                    : ": is for the gateway, not for a service"));
      continue;
    }
    if (is_set(read, *spec)) {
      refuse(both_given(*spec), {});
      continue;
    }
    const origin position{where, source.file, entry.value.line, entry.value.column};
    if (in_file && entry.value.kind != node::type::text) {
      refuse(" ", entry.name + ": expected a path in quotes");
      continue;
    }
    auto value = in_file ? read_secret_file(*spec, entry.value.text, position, title, out)
                         : read_node(*spec, entry.value, source.file, where, title, out);
    if (value) read.push_back({spec, *std::move(value), position});
  }
  return read;
}

std::vector<setting> default_settings(const reading& source,
                                      const std::vector<const option*>& known) {
  std::vector<setting> read;
  remarks none;
  for (const auto* o : known) {
    if (!source.knows(*o)) continue;
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
  const bool flag = where == layer::flag;
  const auto find = [&](const std::string& name) -> const std::string* {
    const auto found = texts.find(name);
    return found == texts.end() || (!flag && found->second.empty()) ? nullptr : &found->second;
  };
  // The name of a flag or variable is unique, so no title precedes it.
  for (const auto* o : known) {
    if (o->flag.empty()) continue;
    const auto name = flag ? std::string(o->flag) : o->variable();
    if (const auto* text = find(name)) {
      const origin origin{where, flag ? "--" + name : name};
      if (auto value = read_text(*o, *text, origin, {}, out)) {
        read.push_back({o, *std::move(value), origin});
      }
    }
    if (!o->secret) continue;
    const auto file = flag ? file_flag_of(*o) : file_variable_of(*o);
    if (const auto* path = find(file)) {
      const origin origin{where, flag ? "--" + file : file};
      if (find(name) != nullptr) {
        out.push_back({remark::grade::fault, origin,
                       (flag ? "--" + name : name) + " is given too; choose one"});
      } else if (auto value = read_secret_file(*o, *path, origin, {}, out)) {
        read.push_back({o, *std::move(value), origin});
      }
    }
  }
  return read;
}

}  // namespace onceguard::config
