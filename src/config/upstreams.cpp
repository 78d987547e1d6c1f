#include "config/upstreams.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "config/table/parsers.hpp"
#include "config/table/table_reader.hpp"

namespace onceguard::config {

upstreams::upstreams(const routing_input& input, remarks& out) : input_(input), out_(out) {
  read_tables();
  take_flag();
}

void upstreams::read_tables() {
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
    if (index_of(draft.name) < list_.size()) {
      fault(read.front().position, "[[upstream]] name: " + quoted(draft.name) + " is there twice");
      continue;
    }
    add(draft.name, draft.identity, draft.url, draft.tls, at(table));
    list_.back().empty_body = draft.empty_body;
  }
}

void upstreams::take_flag() {
  const auto& flag = input_.upstream_flag;
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
    add("default", {}, url, {}, flag->position);
    names_.emplace_back("default");
  } else if (list_.size() == 1) {
    const auto before = std::move(list_.front());
    list_.clear();
    add(before.name, before.identity, url, {}, flag->position);
    auto& made = list_.front();
    made.empty_body = before.empty_body;
    if (made.address.secure) made.address.tls = before.address.tls;
  }
}

std::size_t upstreams::find(const std::string& name, const origin& position) {
  if (name.empty()) return 0;
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
    const std::vector<std::string_view> known(names_.begin(), names_.end());
    const auto meant = nearest(name, known);
    fault(position, "[[route]] upstream: there is no upstream " + quoted(name) +
                        (meant.empty() ? "" : "; did you mean " + quoted(meant) + "?"));
  }
  const auto index = index_of(name);
  return index < list_.size() ? index : 0;
}

void upstreams::add(std::string name, std::string identity, std::string_view url,
                    const tls::client_files& files, const origin& position) {
  auto read = parse_web_url(url);
  gateway::upstream_params made;
  made.identity = identity.empty() ? name : std::move(identity);
  made.name = std::move(name);
  made.address = read->address;
  take_tls(files, position, made.address);
  made.base_path = read->path;
  while (made.base_path.ends_with('/')) made.base_path.pop_back();
  list_.push_back(std::move(made));
}

void upstreams::take_tls(const tls::client_files& files, const origin& position,
                         base::endpoint& address) {
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

void upstreams::warn_of_end(const std::string& certificate, const origin& position) {
  if (certificate.empty()) return;
  const auto end = tls::end_of_certificate(certificate);
  if (!end || *end >= base::system_clock().wall_ms() / 1'000) return;
  out_.push_back({remark::grade::warning, position,
                  "[[upstream]] tls_certificate: has expired; the upstream will refuse it"});
}

void upstreams::fault(const origin& origin, std::string description) {
  out_.push_back({remark::grade::fault, origin, std::move(description)});
}
origin upstreams::at(const node& n) const {
  return {layer::route, input_.source.file, n.line, n.column};
}

std::size_t upstreams::index_of(std::string_view name) const {
  const auto found =
      std::find_if(list_.begin(), list_.end(), [&](const auto& u) { return u.name == name; });
  return static_cast<std::size_t>(found - list_.begin());
}

std::size_t upstreams::faults() const {
  return static_cast<std::size_t>(std::count_if(
      out_.begin(), out_.end(), [](const remark& r) { return r.weight == remark::grade::fault; }));
}

}  // namespace onceguard::config
