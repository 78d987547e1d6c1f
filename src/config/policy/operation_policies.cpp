#include "config/policy/operation_policies.hpp"

#include <algorithm>

#include "base/comma_list.hpp"
#include "config/policy/json_options.hpp"
#include "config/policy/policy_check.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {
namespace {

/// A client sends the same few policies again and again.
constexpr std::size_t remembered_max = 64;
constexpr std::size_t json_size_max = 4'096;

error wrong_operation_policy(const std::string& detail) { return {errc::invalid_argument, detail}; }

/// An operation without a request has nobody to ask.
route_policy without_probe(route_policy made) {
  if (made.unknown == unknown_policy::probe) made.unknown = unknown_policy::hold;
  return made;
}

std::shared_ptr<const route_policy> shared(const route_policy& made) {
  return std::make_shared<const route_policy>(without_probe(made));
}

std::string listed(const std::vector<std::string>& names) {
  auto out = base::comma_list(names);
  return out.empty() ? "none" : out;
}

/// Each option of an operation as it is written in the file.
std::map<std::string, std::string> texts_of(const policy_draft& defaults,
                                            const std::vector<setting>& found) {
  std::map<std::string, std::string> out;
  for (const auto* one : operation_options()) {
    const auto given = defaults.texts.find(std::string(one->name));
    if (given != defaults.texts.end()) out.insert(*given);
  }
  for (const auto& one : found) {
    const std::string name(one.spec->name);
    if (name != "name") out[name] = toml_text(*one.spec, one.value);
  }
  return out;
}

}  // namespace

operation_policies::operation_policies(policy_draft defaults,
                                       const std::vector<named_policy>& named, inline_rules inlined)
    : defaults_(std::move(defaults)),
      inlined_(std::move(inlined)),
      usual_(shared(defaults_.policy)) {
  for (const auto& one : named) named_.emplace(one.name, shared(one.draft.policy));
}

result<operation_policies::policy> operation_policies::find(std::string_view name) const {
  if (const auto found = named_.find(name); found != named_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [known, unused] : named_) names.push_back(known);
  const auto meant = nearest(name, names);
  return wrong_operation_policy(
      "policy: there is no policy " + quoted(name) +
      (meant.empty() ? "" : "; did you mean \"" + std::string(meant) + "\"?"));
}

result<operation_policies::policy> operation_policies::read(std::string_view json) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(recent_.begin(), recent_.end(),
                                    [&](const remembered& one) { return one.json == json; });
    if (known != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, known);
      return known->made;
    }
  }
  auto made = make(json);
  if (!made) return made;
  const std::lock_guard lock(mutex_);
  recent_.push_front({std::string(json), *made});
  if (recent_.size() > remembered_max) recent_.pop_back();
  return made;
}

result<operation_policies::policy> operation_policies::make(std::string_view json) const {
  if (json.size() > json_size_max) {
    return wrong_operation_policy("policy: longer than " + std::to_string(json_size_max) +
                                  " bytes");
  }
  const auto options = read_json_options(json);
  if (!options) return wrong_operation_policy("policy: " + options.error().detail);
  const auto made = merge(*options);
  if (!made) return made.error();
  if (auto fault = limits_fault(*made); !fault.empty()) return wrong_operation_policy(fault);
  return shared(*made);
}

result<route_policy> operation_policies::merge(const node& options) const {
  auto draft = defaults_;
  draft.title = "policy.";
  remarks found;
  for (const auto& entry : options.members) {
    const auto member = "policy." + entry.name + ": ";
    if (auto why = operation_option_complaint(entry.name); !why.empty())
      return wrong_operation_policy(member + why);
    const auto& may = inlined_.options;
    if (std::find(may.begin(), may.end(), entry.name) == may.end()) {
      return wrong_operation_policy(
          member + "is for a [[policy]] of the service to say; a claim may say " + listed(may));
    }
    for (const auto& row : policy_rows()) {
      if (row.spec.name != entry.name) continue;
      const auto value = read_node(row.spec, entry.value, {}, layer::route, {}, found);
      if (!value) return wrong_operation_policy("policy." + found.front().message);
      row.assign(draft, *value);
      draft.origins[row.spec.name].where = layer::route;
    }
  }
  finish_operation_policy(draft, found);
  const auto fault = std::find_if(found.begin(), found.end(), [](const remark& one) {
    return one.weight == remark::grade::fault;
  });
  if (fault != found.end()) return wrong_operation_policy(fault->message);
  return draft.policy;
}

/// What a [[policy]] and [defaults] say is the service's own, whatever the limits are.
std::string operation_policies::limits_fault(const route_policy& made) const {
  const auto& usual = defaults_.policy;
  const auto fault = [](std::string_view option, milliseconds wanted, milliseconds usual_value,
                        std::string_view limit, milliseconds most) {
    if (wanted <= std::max(usual_value, most)) return std::string();
    return "policy." + std::string(option) + ": at most " + duration_text(most) + ", the " +
           std::string(limit) + " of [serve]";
  };
  const auto& [unused, lease, retention] = inlined_;
  auto out = fault("lease", made.lease, usual.lease, "max_lease", lease);
  if (out.empty()) {
    out = fault("upstream_timeout", made.upstream_timeout, usual.upstream_timeout, "max_lease",
                lease);
  }
  if (out.empty()) {
    out = fault("retention", made.retention, usual.retention, "max_retention", retention);
  }
  return out;
}

std::vector<named_policy> read_named_policies(const reading& source, const node* tables,
                                              const policy_draft& defaults, remarks& out) {
  std::vector<named_policy> all;
  if (tables == nullptr) return all;
  auto known = specs_of(policy_table_rows());
  const auto& options = operation_options();
  known.insert(known.end(), options.begin(), options.end());
  for (const auto& table : tables->items) {
    const auto fault = [&](std::string description) {
      out.push_back({remark::grade::fault,
                     {layer::route, source.file, table.line, table.column},
                     "[[policy]] " + std::move(description)});
    };
    const auto found = read_table(source, known, table, "[[policy]]", layer::route, out);
    policy_table_draft named;
    apply(policy_table_rows(), found, named);
    if (named.name.empty()) fault("name: missing");
    const auto same = [&](const named_policy& other) { return other.name == named.name; };
    if (std::any_of(all.begin(), all.end(), same))
      fault("name: " + quoted(named.name) + " is there twice");
    auto draft = defaults;
    draft.title = "[[policy]] ";
    apply(policy_rows(), found, draft);
    for (const auto& one : found) draft.origins[one.spec->name] = one.position;
    draft.texts = texts_of(defaults, found);
    finish_operation_policy(draft, out);
    all.push_back({named.name, std::move(draft)});
  }
  return all;
}

}  // namespace onceguard::config
