#include "config/upstreams_and_routes.hpp"

#include <algorithm>
#include <map>

#include "base/clock.hpp"
#include "config/table/parsers.hpp"
#include "config/table/table_reader.hpp"
#include "config/webhook_options.hpp"

namespace onceguard::config {
namespace {

class routing_builder {
 public:
  routing_builder(const routing_input& input, remarks& out) : input_(input), out_(out) {}

  routing_output run() {
    read_upstreams();
    take_flag();
    for (auto& read : read_routes(input_.source, input_.routes, input_.defaults, out_)) {
      gateway::route_params made;
      static_cast<http::route&>(made) = std::move(read.rule);
      made.upstream = find_upstream(read.upstream, read.upstream_position);
      take_webhook(input_.senders, input_.need_upstream, read, made, out_);
      compare_queues(read, made);
      result_.params.routes.push_back(std::move(made));
      result_.policies.push_back(std::move(read.policy));
    }
    return std::move(result_);
  }

 private:
  void fault(const origin& origin, std::string description) {
    out_.push_back({remark::grade::fault, origin, std::move(description)});
  }
  [[nodiscard]] origin at(const node& n) const {
    return {layer::route, input_.source.file, n.line, n.column};
  }

  /// A consumer of a queue knows a message by its id alone, which each sender makes for itself.
  void compare_queues(const configured_route& read, const gateway::route_params& made) {
    if (made.webhook_queue.empty()) return;
    const auto [first, added] =
        queues_.try_emplace(made.webhook_queue, made.host + made.path, read.webhook);
    if (added) return;
    const auto& [route, sender] = first->second;
    const auto found = read.policy.origins.find("webhook_queue");
    out_.push_back({sender == read.webhook ? remark::grade::note : remark::grade::warning,
                    found == read.policy.origins.end() ? origin{} : found->second,
                    "[[route]] webhook_queue: the deliveries of " + quoted(route) +
                        " go there, too; a consumer takes two with one id for one delivery, "
                        "unless each route has a queue of its own"});
  }

  void add_upstream(std::string name, std::string identity, std::string_view url,
                    const tls::client_files& files, const origin& position) {
    auto read = parse_web_url(url);
    gateway::upstream_params made;
    made.identity = identity.empty() ? name : std::move(identity);
    made.name = std::move(name);
    made.address = read->address;
    take_tls(files, position, made.address);
    made.base_path = read->path;
    while (made.base_path.ends_with('/')) made.base_path.pop_back();
    result_.params.upstreams.push_back(std::move(made));
  }

  /// The files are read here, so that one that can't be used is a fault of the configuration, and
  /// SIGHUP reads them again.
  void take_tls(const tls::client_files& files, const origin& position, base::endpoint& address) {
    if (files == tls::client_files()) return;
    const auto wrong = [&](const std::string& text) { fault(position, "[[upstream]] " + text); };
    if (!address.secure) return wrong("tls_…: only with https:// in url");
    if (files.certificate.empty() != files.key.empty()) {
      return wrong("tls_certificate and tls_key: both or neither");
    }
    auto made = tls::make_client_context(files);
    if (!made) return wrong("tls_…: " + made.error().detail);
    warn_of_end(files.certificate, position);
    auto settings = std::make_shared<tls::client_settings>();
    settings->context = std::move(*made);
    settings->name = files.name;
    settings->files = files;
    address.tls = std::move(settings);
  }

  void warn_of_end(const std::string& certificate, const origin& position) {
    if (certificate.empty()) return;
    const auto end = tls::end_of_certificate(certificate);
    if (!end || *end >= base::system_clock().wall_ms() / 1'000) return;
    out_.push_back({remark::grade::warning, position,
                    "[[upstream]] tls_certificate: has expired; the upstream will refuse it"});
  }

  void read_upstreams() {
    if (input_.upstreams == nullptr) return;
    for (const auto& table : input_.upstreams->items) {
      const auto before = faults();
      const auto read = read_table(input_.source, specs_of(upstream_rows()), table, "[[upstream]]",
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
      add_upstream(draft.name, draft.identity, draft.url, draft.tls, at(table));
      result_.params.upstreams.back().empty_body = draft.empty_body;
    }
  }

  void take_flag() {
    const auto& flag = input_.upstream_flag;
    auto& upstreams = result_.params.upstreams;
    if (!flag) {
      if (mentioned_ == 0 && input_.need_upstream && !input_.misread_upstream) {
        fault({layer::fallback, input_.source.file},
              "no upstream: give one with --upstream URL or as [[upstream]] in the file");
      }
      return;
    }
    const auto& url = std::get<std::string>(flag->value);
    if (mentioned_ > 1) {
      fault(flag->position, "upstream: the file names " + std::to_string(mentioned_) +
                                " upstreams, so it can't be said which one is meant");
    } else if (mentioned_ == 0) {
      add_upstream("default", {}, url, {}, flag->position);
      names_.emplace_back("default");
    } else if (upstreams.size() == 1) {
      const auto before = std::move(upstreams.front());
      upstreams.clear();
      add_upstream(before.name, before.identity, url, {}, flag->position);
      auto& made = upstreams.front();
      made.empty_body = before.empty_body;
      if (made.address.secure) made.address.tls = before.address.tls;
    }
  }

  std::size_t find_upstream(const std::string& name, const origin& position) {
    if (name.empty()) return 0;
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
      const std::vector<std::string_view> known(names_.begin(), names_.end());
      const auto meant = nearest(name, known);
      fault(position, "[[route]] upstream: there is no upstream " + quoted(name) +
                          (meant.empty() ? "" : "; did you mean " + quoted(meant) + "?"));
    }
    const auto index = index_of(name);
    return index < result_.params.upstreams.size() ? index : 0;
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
  /// By queue: the first route that publishes there, and its sender.
  std::map<std::string, std::pair<std::string, std::string>> queues_;
  std::size_t mentioned_ = 0;       // all upstreams of the file, including faulty ones
  std::vector<std::string> names_;  // names of upstreams, including faulty ones
};

}  // namespace

routing_output build_routing(const routing_input& input, remarks& out) {
  return routing_builder(input, out).run();
}

}  // namespace onceguard::config
