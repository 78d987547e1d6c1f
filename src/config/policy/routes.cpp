#include "config/policy/routes.hpp"

#include <algorithm>
#include <array>

#include "config/policy/pitfalls.hpp"
#include "config/policy/policy_check.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {
namespace {

bool is_fault(const remark& r) { return r.weight == remark::grade::fault; }

/// The options of [defaults] that don't count on routes of webhooks.
constexpr std::array<std::string_view, 7> contract{
    "profile",         "keep", "outcome", "retention", "fingerprint", "fingerprint_pick",
    "fingerprint_omit"};

class route_reader {
 public:
  route_reader(const reading& source, const policy_draft& defaults, remarks& out)
      : source_(source), defaults_(defaults), out_(out) {}

  void read(const node& table) {
    auto known = specs_of(route_rows());
    const auto policies = specs_of(policy_rows());
    known.insert(known.end(), policies.begin(), policies.end());
    const auto before = faults();
    const auto found = read_table(source_, known, table, "[[route]]", layer::route, out_);

    configured_route made;
    route_draft& draft = made;
    apply(route_rows(), default_settings(source_, specs_of(route_rows())), draft);
    apply(route_rows(), found, draft);
    made.policy = defaults_;
    if (!made.webhook.empty()) forget_contract(made.policy);
    apply(policy_rows(), found, made.policy);
    for (const auto& s : found) {
      made.policy.origins[s.spec->name] = s.position;
      if (s.spec->name == "upstream") made.upstream_position = s.position;
      const std::string name(s.spec->name);
      if (made.policy.texts.contains(name)) {  // an option of [defaults], too
        made.policy.texts[name] = toml_text(*s.spec, s.value);
      }
    }
    // A partly read route would only cause misleading further faults.
    if (faults() != before) return;
    if (!made.host.empty()) made.rule.host = *parse_route_host(made.host);
    made.rule.path = *parse_route_path(made.path);
    made.rule.method = made.match_method;
    refuse_twin(made.rule, table);
    refuse_idle_requirement(made);
    warn_of_star(made);
    finish(std::move(made));
    lines_.push_back(table.line);
  }

  std::vector<configured_route> done() {
    const bool there = std::any_of(routes_.begin(), routes_.end(), [](const auto& r) {
      return r.rule.host.empty() && r.rule.path == "/" && r.rule.method.empty();
    });
    if (!there) {
      configured_route rest;
      rest.policy = defaults_;
      finish(std::move(rest));
    }
    return std::move(routes_);
  }

 private:
  void fault(const origin& origin, std::string description) {
    out_.push_back({remark::grade::fault, origin, std::move(description)});
  }
  [[nodiscard]] std::ptrdiff_t faults() const {
    return std::count_if(out_.begin(), out_.end(), is_fault);
  }

  /// What an answer means, how long it counts and what is the same request is agreed with the
  /// callers of an API. Under their contract, deliveries would be lost: a 500 would be replayed
  /// to a sender that tries again.
  void forget_contract(policy_draft& draft) const {
    auto known = specs_of(policy_rows());
    std::erase_if(known, [](const option* one) {
      return std::find(contract.begin(), contract.end(), one->name) == contract.end();
    });
    const auto usual = default_settings(source_, known);
    apply(policy_rows(), usual, draft);
    draft.profile.clear();
    for (const auto name : contract) draft.origins.erase(name);
    for (const auto& s : usual) {
      const std::string name(s.spec->name);
      if (draft.texts.contains(name)) draft.texts[name] = toml_text(*s.spec, s.value);
    }
  }

  /// Refuses two routes that match the same requests equally well: the choice would be arbitrary.
  void refuse_twin(const http::route& made, const node& table) {
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      const auto& other = routes_[i].rule;
      if (other.host != made.host || other.path != made.path) continue;
      const bool both_any = other.method.empty() && made.method.empty();
      const bool shared = std::any_of(made.method.begin(), made.method.end(), [&](const auto& m) {
        return std::find(other.method.begin(), other.method.end(), m) != other.method.end();
      });
      if (both_any || shared) {
        fault({layer::route, source_.file, table.line, table.column},
              "[[route]] fits the same requests as the one in line " + std::to_string(lines_[i]));
        return;
      }
    }
  }

  /// Refuses a route that requires keys, and that no guarded request fits.
  void refuse_idle_requirement(const configured_route& made) {
    const auto& guarded = made.policy.policy.methods;
    const auto& required = made.policy.origins.at("required");
    if (!made.policy.policy.required || !required.of_route()) return;
    const auto& matched = made.rule.method;
    if (matched.empty() || guarded.empty()) return;
    const bool fits = std::any_of(matched.begin(), matched.end(), [&](const auto& m) {
      return std::find(guarded.begin(), guarded.end(), m) != guarded.end();
    });
    if (fits) return;
    fault(required,
          "[[route]] required: can't apply: none of the methods in match_method is guarded; add "
          "one to methods");
  }

  /// Of a path that fits nothing that anybody sends, while what was meant is unguarded or goes by
  /// another rule.
  void warn_of_star(const configured_route& made) {
    const auto star = made.rule.path.find('*');
    if (star == std::string::npos) return;
    const auto above = made.rule.path.substr(0, made.rule.path.rfind('/', star));
    out_.push_back({remark::grade::warning, made.policy.origins.at("path"),
                    "[[route]] path: \"*\" is no pattern, and fits a star alone; a path fits all "
                    "that is below it, so take " +
                        quoted(above.empty() ? "/" : above)});
  }

  void finish(configured_route made) {
    finish_policy(source_.door, made.policy, out_);
    // The key of a delivery, and whose it is, are its sender's.
    if (made.webhook.empty()) add_pitfalls(made.policy, made.rule.path, out_);
    made.rule.policy = made.policy.policy;
    routes_.push_back(std::move(made));
  }

  const reading& source_;
  const policy_draft& defaults_;
  remarks& out_;
  std::vector<configured_route> routes_;
  std::vector<std::uint32_t> lines_;  // lines of the accepted routes
};

}  // namespace

std::vector<configured_route> read_routes(const reading& source, const node* routes,
                                          const policy_draft& defaults, remarks& out) {
  route_reader reader(source, defaults, out);
  if (routes != nullptr) {
    for (const auto& table : routes->items) reader.read(table);
  }
  return reader.done();
}

bool has_fault(const remarks& list) noexcept {
  return std::any_of(list.begin(), list.end(), is_fault);
}

}  // namespace onceguard::config
