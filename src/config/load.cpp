#include "config/load.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/clock.hpp"
#include "config/consume_options.hpp"
#include "config/listener_check.hpp"
#include "config/pepper_check.hpp"
#include "config/policy/operation_policies.hpp"
#include "config/policy/policy_check.hpp"
#include "config/relay_options.hpp"
#include "config/routing.hpp"
#include "config/stores.hpp"
#include "config/table/parsers.hpp"
#include "config/table/scope_sources.hpp"
#include "config/table/secret_file.hpp"
#include "config/table/table_reader.hpp"
#include "config/webhook_options.hpp"
#include "http1/start_line.hpp"
#include "jwt/file_verifier.hpp"
#include "tls/context.hpp"

namespace onceguard::config {
namespace {

constexpr auto table_names = [] {
  std::array<std::string_view, gateway_tables.size() + route_tables.size()> all;
  const auto rest = std::copy(gateway_tables.begin(), gateway_tables.end(), all.begin());
  std::copy(route_tables.begin(), route_tables.end(), rest);
  return all;
}();

class loader {
 public:
  explicit loader(const sources& sources)
      : sources_(sources), source_{sources.file, front_door::gateway, section_of} {}

  loaded run(const node& document) {
    source_.serves = std::any_of(document.members.begin(), document.members.end(),
                                 [](const member& each) { return each.name == "serve"; });
    result_.values.says_nothing = document.members.empty();
    check_table_names(source_, document, table_names, result_.remarks);
    read_fixed(document, "gateway", gateway_rows());
    read_fixed(document, "store", store_rows());
    read_fixed(document, "reconcile", reconcile_rows());
    read_fixed(document, "log", log_rows());
    read_serve(document);
    read_jwt(document);
    read_defaults(document);
    read_routing(document);
    read_operations(document);
    result_.values.consumers =
        read_consumers(source_, find_table(source_, document, "consume", true, result_.remarks),
                       defaults_, result_.remarks);
    result_.values.relays = read_relays(
        source_, find_table(source_, document, "relay", true, result_.remarks), result_.remarks);
    check_tls();
    check_serve(result_.values, serve_positions_, result_.remarks);
    check_accelerator();
    check_reconcile();
    check_pepper(result_.values, positions_["query"], positions_["interval"], result_.remarks);
    check_admin();
    check_variables();
    put_in_order(result_.remarks);
    return std::move(result_);
  }

 private:
  void say(remark::grade weight, const origin& origin, std::string description) {
    result_.remarks.push_back({weight, origin, std::move(description)});
  }
  /// Reads defaults, file, environment and flags, one after the other.
  template <class Target>
  std::vector<setting> read_layers(const node& document, const std::string& name,
                                   std::span<const row<Target>> rows, Target& target) {
    const auto known = specs_of(rows);
    auto all = default_settings(source_, known);
    const auto add = [&](std::vector<setting> more) {
      all.insert(all.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
    };
    if (const auto* table = find_table(source_, document, name, false, result_.remarks)) {
      add(read_table(source_, known, *table, "[" + name + "]", layer::file, result_.remarks));
    }
    add(named_settings(known, layer::environment, sources_.environment, result_.remarks));
    add(named_settings(known, layer::flag, sources_.flags, result_.remarks));
    apply(rows, all, target);
    return all;
  }

  void read_fixed(const node& document, const std::string& name,
                  std::span<const row<settings>> rows) {
    for (const auto& s : read_layers(document, name, rows, result_.values)) {
      const auto title = "[" + name + "] " + std::string(s.spec->name);
      result_.values.fixed[title] = toml_text(*s.spec, s.value);
      positions_[s.spec->name] = s.position;
    }
  }

  /// Some of its options have names that others have in [gateway].
  void read_serve(const node& document) {
    for (const auto& s : read_layers(document, "serve", serve_rows(), result_.values)) {
      const auto title = "[serve] " + std::string(s.spec->name);
      if (!is_rule_of_serve(s.spec->name)) {
        result_.values.fixed[title] = toml_text(*s.spec, s.value);
      }
      serve_positions_[s.spec->name] = s.position;
    }
    auto& made = result_.values.serve;
    made.drain = result_.values.gateway.drain;
    made.problem_base = result_.values.gateway.problem_base;
  }

  /// The keys are read here, so that a file that can't be used is a fault of the configuration.
  void read_jwt(const node& document) {
    for (const auto& s : read_layers(document, "jwt", jwt_rows(), result_.values)) {
      positions_[s.spec->name] = s.position;
    }
    const auto& given = result_.values.jwt;
    if (given.keys_file.empty()) return;
    jwt::rules rules;
    rules.issuer = given.issuer;
    rules.audience = given.audience;
    rules.leeway_s = given.leeway.count() / 1'000;
    auto opened = jwt::open_file_verifier(given.keys_file, std::move(rules));
    if (!opened) {
      return say(remark::grade::fault, positions_["keys_file"],
                 "[jwt] keys_file: " + opened.error().detail);
    }
    if (given.issuer.empty() && !jwt::names_issuers(given.keys_file)) {
      say(remark::grade::warning, positions_["keys_file"],
          "[jwt] issuer: not set, so a key of one issuer verifies tokens that name another; set "
          "it, "
          "or give each key of keys_file a member iss");
    }
    defaults_.policy.tokens = std::move(*opened);
  }

  void read_defaults(const node& document) {
    for (const auto& s : read_layers(document, "defaults", policy_rows(), defaults_)) {
      defaults_.origins[s.spec->name] = s.position;
      defaults_.texts[std::string(s.spec->name)] = toml_text(*s.spec, s.value);
    }
    remarks unused;  // [defaults] only need to be consistent where a route uses them unchanged
    auto draft = defaults_;
    finish_policy(front_door::gateway, draft, unused);
    result_.values.defaults = draft.policy;
  }

  void read_operations(const node& document) {
    const auto* tables = find_table(source_, document, "policy", true, result_.remarks);
    const auto named = read_named_policies(source_, tables, defaults_, result_.remarks);
    for (const auto& one : named) {
      check_effect(one.draft);
      result_.values.policy_options[one.name] = one.draft.texts;
    }
    result_.values.operations =
        std::make_shared<operation_policies>(defaults_, named, result_.values.inlined);
  }

  void read_routing(const node& document) {
    routing_input input;
    input.source = source_;
    input.routes = find_table(source_, document, "route", true, result_.remarks);
    input.defaults = defaults_;
    const auto& tables = document.members;
    const bool messages = std::any_of(tables.begin(), tables.end(), [](const member& each) {
      return each.name == "consume" || each.name == "relay" || each.name == "serve";
    });
    input.need_upstream = sources_.need_upstream && !(sources_.messages_alone && messages);
    const auto* senders = find_table(source_, document, "webhook", true, result_.remarks);
    input.senders = read_senders(source_, senders, input.routes != nullptr, result_.remarks);
    const std::vector<const option*> flag{&upstream_flag()};
    const auto before = result_.remarks.size();
    input.upstreams = find_table(source_, document, "upstream", true, result_.remarks);
    for (const auto where : {layer::environment, layer::flag}) {
      const auto& texts = where == layer::flag ? sources_.flags : sources_.environment;
      for (auto& s : named_settings(flag, where, texts, result_.remarks)) {
        input.upstream_flag = std::move(s);
      }
      input.misread_upstream |= result_.remarks.size() != before;
    }
    auto built = build_routing(input, result_.remarks);
    for (const auto& draft : built.policies) {
      result_.values.route_options.push_back(draft.texts);
      result_.values.route_sources.push_back(sources_of(draft));
      check_room(draft);
      check_effect(draft);
      check_methods(draft);
      check_verified(draft);
      check_proxies(draft);
    }
    result_.values.routing = std::move(built.params);
  }

  /// Checks a policy against the settings of the gateway.
  void check_room(const policy_draft& draft) {
    const auto& policy = draft.policy;
    const auto& gateway = result_.values.gateway;
    if (policy.max_request_body + policy.max_answer_body > gateway.max_buffered) {
      auto position = positions_["max_buffered"];
      for (const std::string_view name : {"max_request_body", "max_answer_body"}) {
        const auto& other = draft.origins.at(name);
        if (other.where > position.where) position = other;
      }
      say(remark::grade::fault, position,
          "max_buffered of [gateway] must hold max_request_body and max_answer_body together");
    }
    if (gateway.drain < policy.upstream_timeout) {
      // The default is bounded by what Kubernetes grants, and the service is seldom that slow.
      const auto& position = positions_["drain"];
      const bool chosen = position.where != layer::fallback;
      say(chosen ? remark::grade::warning : remark::grade::note, position,
          "[gateway] drain: shorter than upstream_timeout; a request that is running at SIGTERM "
          "may be left with an unknown outcome");
    }
  }

  /// Where every peer is a trusted proxy, a caller names the address that it is known by.
  void check_proxies(const policy_draft& draft) {
    if (!takes(draft.policy.scope, scope_source::address)) return;
    const auto& listed = result_.values.gateway.trusted_proxies;
    const auto all = std::find_if(listed.begin(), listed.end(),
                                  [](const auto& one) { return one.ends_with("/0"); });
    if (all == listed.end()) return;
    say(remark::grade::warning, positions_["trusted_proxies"],
        "[gateway] trusted_proxies: with " + quoted(*all) +
            " and scope = \"address\" a caller chooses its address by X-Forwarded-For, and can "
            "get another's answers; list the proxies alone");
  }

  void check_effect(const policy_draft& draft) {
    check_pepper(result_.values, draft, result_.remarks);
    if (draft.policy.effect != effect_rule::transactional) return;
    if (store() != nullptr && store()->traits.transactional) return;
    const auto& position = draft.origins.at("effect");
    say(remark::grade::fault, position,
        std::string(position.of_route() ? draft.title : "[defaults] ") +
            "effect: \"transactional\" needs " +
            known_stores().examples(
                [](const store_kind& kind) { return kind.traits.transactional; }));
  }

  /// Checks the methods against those that the gateway takes.
  void check_methods(const policy_draft& draft) {
    const auto& position = draft.origins.at("methods");
    for (const auto& method : draft.policy.methods) {
      if (http1::is_known_method(method)) continue;
      say(remark::grade::fault, position,
          std::string(position.of_route() ? "[[route]]" : "[defaults]") +
              " methods: " + quoted(method) + " can't be guarded: the gateway answers 501 to it");
    }
  }

  /// Whoever writes parts of an Authorization that nobody verifies would get another one's answer.
  void check_verified(const policy_draft& draft) {
    const auto& policy = draft.policy;
    if (!policy.replay_check.empty() || !result_.values.gateway.trusted_proxies.empty()) return;
    const auto check = [&](std::string_view option, const scope_rule& rule) {
      if (rule.text().find("auth-param:") == std::string::npos) return;
      const auto& position = draft.origins.at(option);
      say(remark::grade::fault, position,
          std::string(position.of_route() ? "[[route]] " : "[defaults] ") + std::string(option) +
              ": \"" + rule.text() +
              "\" is not verified by the gateway, so whoever forges it would get the stored "
              "answer; "
              "set replay_check, or list the proxy that verifies it in trusted_proxies");
    };
    check("scope", policy.scope);
    for (const auto& rule : policy.previous_scope) check("previous_scope", rule);
  }

  /// What the URL names is: null where the URL itself is at fault, which is said elsewhere.
  [[nodiscard]] const store_kind* store() const {
    return known_stores().kind_of(result_.values.store.url);
  }

  void check_tls() {
    const auto& gateway = result_.values.gateway;
    const tls::server_files files{gateway.tls_certificate, gateway.tls_key, gateway.tls_client_ca,
                                  gateway.tls_client_required};
    check_listener_tls(files, "[gateway]", positions_, result_.remarks);
  }

  void check_accelerator() {
    const auto& values = result_.values;
    if (values.accelerator.url.empty()) {
      if (!values.accelerator.replays_without_store) return;
      return say(remark::grade::warning, positions_["accelerator_replays"],
                 "[store] accelerator_replays: not used without accelerator");
    }
    if (store() != nullptr && store()->takes_accelerator) return;
    say(remark::grade::fault, positions_["accelerator"],
        "[store] accelerator: needs " + known_stores().examples([](const store_kind& kind) {
          return kind.takes_accelerator;
        }) + ", which is the truth behind it");
  }

  void check_reconcile() {
    const auto& values = result_.values;
    const auto& query = values.query;
    if (!query.text.empty() && query.database.empty() &&
        (store() == nullptr || !store()->answers_queries)) {
      say(remark::grade::fault, positions_["query"],
          "[reconcile] query: needs a PostgreSQL database; name the one with the application's "
          "tables in database");
    }
    if (query.text.empty() && !query.database.empty()) {
      say(remark::grade::warning, positions_["database"],
          "[reconcile] database: not used without query");
    }
    if (!query.text.empty() && query.text.find("$1") == std::string::npos) {
      say(remark::grade::warning, positions_["query"],
          "[reconcile] query: without $1, the scope, the outcome of another caller's operation "
          "with the same key counts as this one's");
    }
    const auto& routes = values.routing.routes;
    const bool probes = std::any_of(routes.begin(), routes.end(),
                                    [](const auto& r) { return !r.policy.probe.empty(); });
    if (values.gateway.reconcile_interval.count() > 0 && query.text.empty() && !probes) {
      say(remark::grade::warning, positions_["interval"],
          "[reconcile] interval: nobody can be asked; set query, or the probe of a route");
    }
  }

  void check_admin() {
    const auto& admin = result_.values.admin;
    if (!admin.enabled && !admin.token_file.empty()) {
      say(remark::grade::warning, positions_["admin_token_file"],
          "[gateway] admin_token_file: not used without admin");
    }
    if (admin.enabled && admin.address.overlaps(result_.values.gateway.listen)) {
      say(remark::grade::fault, positions_["admin"],
          "[gateway] admin: " + admin.address.text() + " is taken by listen; choose another port");
    }
    if (!admin.enabled || !admin.token_file.empty() || admin.address.is_local()) return;
    say(remark::grade::fault, positions_["admin"],
        "[gateway] admin: " + admin.address.text() +
            " can be reached from other machines, and needs admin_token_file");
  }

  /// Finds mistyped variables, which would otherwise be ignored without a message.
  void check_variables() {
    std::vector<std::string> names{"ONCEGUARD_CONFIG"};
    for (const auto* o : flag_options()) {
      names.push_back(o->variable());
      if (o->secret) names.push_back(file_variable_of(*o));
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    for (const auto& [name, value] : sources_.environment) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      if (const auto meant = nearest(name, known); !meant.empty()) {
        say(remark::grade::warning, {layer::environment, name},
            "no such variable; did you mean " + std::string(meant) + "?");
      }
    }
  }

  const sources& sources_;
  reading source_;
  loaded result_;
  policy_draft defaults_;
  std::map<std::string_view, origin> positions_;
  std::map<std::string_view, origin> serve_positions_;  // of [serve]
};

loaded refused(remarks remarks) {
  loaded out;
  out.remarks = std::move(remarks);
  return out;
}

}  // namespace

bool loaded::ok() const noexcept { return !has_fault(remarks); }

loaded load_text(std::string_view toml, const sources& sources) {
  remarks found;
  const auto document = read_document(toml, sources.file, found);
  if (!document) return refused(std::move(found));
  if (sources.need_content && document->members.empty()) {
    return refused({{remark::grade::fault,
                     {layer::file, sources.file},
                     "has nothing in it any more; a restart would take it"}});
  }
  return loader(sources).run(*document);
}

loaded load(const sources& sources) {
  if (sources.file.empty()) return load_text({}, sources);
  const auto text = read_document_file(sources.file);
  if (!text) {
    return refused({{remark::grade::fault, {layer::file, sources.file}, text.error().detail}});
  }
  return load_text(*text, sources);
}

}  // namespace onceguard::config
