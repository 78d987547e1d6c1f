#include "config/routing.hpp"

#include <algorithm>

#include "config/policy_check.hpp"
#include "config/table_reader.hpp"
#include "config/texts.hpp"

namespace onceguard::config {
namespace {

class routing_builder {
 public:
  routing_builder(const routing_input& input, remarks& out) : input_(input), out_(out) {}

  routing_output run() {
    read_upstreams();
    take_flag();
    if (input_.routes != nullptr) {
      for (const auto& table : input_.routes->items) read_route(table);
    }
    add_last_resort();
    return std::move(result_);
  }

 private:
  void fault(const origin& origin, std::string description) {
    out_.push_back({remark::grade::fault, origin, std::move(description)});
  }
  [[nodiscard]] origin at(const node& n) const {
    return {layer::route, input_.file, n.line, n.column};
  }

  void add_upstream(std::string name, std::string identity, std::string_view url) {
    auto read = parse_http_url(url);
    gateway::upstream_params made;
    made.identity = identity.empty() ? name : std::move(identity);
    made.name = std::move(name);
    made.address = read->address;
    made.base_path = read->path;
    while (made.base_path.ends_with('/')) made.base_path.pop_back();
    result_.params.upstreams.push_back(std::move(made));
  }

  void read_upstreams() {
    if (input_.upstreams == nullptr) return;
    for (const auto& table : input_.upstreams->items) {
      const auto before = faults();
      const auto read = read_table(specs_of(upstream_rows()), table, "[[upstream]]", input_.file,
                                   layer::route, out_);
      upstream_draft draft;
      apply(upstream_rows(), read, draft);
      mentioned_ += 1;
      if (!draft.name.empty()) names_.push_back(draft.name);
      if (faults() != before) continue;
      if (draft.name.empty()) fault(at(table), "[[upstream]] name: missing");
      if (draft.url.empty()) fault(at(table), "[[upstream]] url: missing");
      if (draft.name.empty() || draft.url.empty()) continue;
      if (index_of(draft.name) < result_.params.upstreams.size()) {
        fault(read.front().position,
              "[[upstream]] name: " + quoted(draft.name) + " is there twice");
        continue;
      }
      add_upstream(draft.name, draft.identity, draft.url);
    }
  }

  void take_flag() {
    const auto& flag = input_.upstream_flag;
    auto& upstreams = result_.params.upstreams;
    if (!flag) {
      if (mentioned_ == 0 && input_.need_upstream) {
        fault({layer::fallback, input_.file},
              "no upstream: give one with --upstream URL or as [[upstream]] in the file");
      }
      return;
    }
    const auto& url = std::get<std::string>(flag->value);
    if (mentioned_ > 1) {
      fault(flag->position, "upstream: the file names " + std::to_string(mentioned_) +
                                " upstreams, so it can't be said which one is meant");
    } else if (mentioned_ == 0) {
      add_upstream("default", {}, url);
      names_.emplace_back("default");
    } else if (upstreams.size() == 1) {
      const auto before = std::move(upstreams.front());
      upstreams.clear();
      add_upstream(before.name, before.identity, url);
    }
  }

  void read_route(const node& table) {
    auto known = specs_of(route_rows());
    const auto policies = specs_of(policy_rows());
    known.insert(known.end(), policies.begin(), policies.end());
    const auto before = faults();
    const auto read = read_table(known, table, "[[route]]", input_.file, layer::route, out_);

    route_draft draft;
    apply(route_rows(), default_settings(specs_of(route_rows())), draft);
    apply(route_rows(), read, draft);
    auto policy = input_.defaults;
    apply(policy_rows(), read, policy);
    for (const auto& s : read) {
      policy.origins[s.spec->name] = s.position;
      if (policy.texts.contains(std::string(s.spec->name))) {  // an option of [defaults], too
        policy.texts[std::string(s.spec->name)] = toml_text(*s.spec, s.value);
      }
    }

    gateway::route_params made;
    made.host = draft.host;
    made.path = draft.path;
    made.method = draft.method;
    made.upstream = find_upstream(draft.upstream, read);
    if (faults() != before)
      return;  // a partly read route would only cause misleading further
               // faults
    refuse_twin(made, table);
    refuse_idle_requirement(made, policy);
    finish(std::move(made), std::move(policy));
    lines_.push_back(table.line);
  }

  std::size_t find_upstream(const std::string& name, const std::vector<setting>& read) {
    if (name.empty()) return 0;
    const auto match = std::find_if(read.begin(), read.end(),
                                    [](const setting& s) { return s.spec->name == "upstream"; });
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
      const std::vector<std::string_view> known(names_.begin(), names_.end());
      const auto meant = nearest(name, known);
      fault(match->position, "[[route]] upstream: there is no upstream " + quoted(name) +
                                 (meant.empty() ? "" : "; did you mean " + quoted(meant) + "?"));
    }
    const auto index = index_of(name);
    return index < result_.params.upstreams.size() ? index : 0;
  }

  /// Refuses two routes that match the same requests equally well: the choice would be arbitrary.
  void refuse_twin(const gateway::route_params& made, const node& table) {
    for (std::size_t i = 0; i < result_.params.routes.size(); ++i) {
      const auto& other = result_.params.routes[i];
      if (other.host != made.host || other.path != made.path) continue;
      const bool both_any = other.method.empty() && made.method.empty();
      const bool shared = std::any_of(made.method.begin(), made.method.end(), [&](const auto& m) {
        return std::find(other.method.begin(), other.method.end(), m) != other.method.end();
      });
      if (both_any || shared) {
        fault(at(table),
              "[[route]] fits the same requests as the one in line " + std::to_string(lines_[i]));
        return;
      }
    }
  }

  /// Refuses a route that requires keys, and that no guarded request fits.
  void refuse_idle_requirement(const gateway::route_params& made, const policy_draft& draft) {
    const auto& guarded = draft.policy.methods;
    const auto& required = draft.origins.at("required");
    if (!draft.policy.required || !required.of_route()) return;
    if (made.method.empty() || guarded.empty()) return;
    const bool fits = std::any_of(made.method.begin(), made.method.end(), [&](const auto& m) {
      return std::find(guarded.begin(), guarded.end(), m) != guarded.end();
    });
    if (fits) return;
    fault(required,
          "[[route]] required: can't apply: none of the methods in match_method is guarded; add "
          "one to methods");
  }

  void finish(gateway::route_params made, policy_draft policy) {
    finish_policy(policy, out_);
    made.policy = policy.policy;
    result_.params.routes.push_back(std::move(made));
    result_.policies.push_back(std::move(policy));
  }

  void add_last_resort() {
    const auto& routes = result_.params.routes;
    const bool there = std::any_of(routes.begin(), routes.end(), [](const auto& r) {
      return r.host.empty() && r.path == "/" && r.method.empty();
    });
    if (!there) finish({}, input_.defaults);
  }

  [[nodiscard]] std::size_t index_of(std::string_view name) const {
    const auto& list = result_.params.upstreams;
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const auto& u) { return u.name == name; });
    return static_cast<std::size_t>(found - list.begin());
  }
  [[nodiscard]] std::size_t faults() const {
    return static_cast<std::size_t>(std::count_if(out_.begin(), out_.end(), [](const remark& r) {
      return r.weight == remark::grade::fault;
    }));
  }

  const routing_input& input_;
  remarks& out_;
  routing_output result_;
  std::size_t mentioned_ = 0;         // all upstreams of the file, including faulty ones
  std::vector<std::string> names_;    // names of upstreams, including faulty ones
  std::vector<std::uint32_t> lines_;  // lines of the accepted routes
};

}  // namespace

routing_output build_routing(const routing_input& input, remarks& out) {
  return routing_builder(input, out).run();
}

}  // namespace onceguard::config
