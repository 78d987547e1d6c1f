#include "audit/audit_log.hpp"

#include <array>
#include <cstdlib>
#include <pwd.h>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>

#include "audit/line_file.hpp"
#include "base/clock.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/time_text.hpp"

namespace onceguard {
namespace {

constexpr std::size_t digest_digits = 12;

std::string digest_of(const audited_change& change) {
  return change.record ? base::to_hex(*change.record).substr(0, digest_digits) : std::string();
}

class log_events final : public audit_log {
  result<void> write(const audit_author& author, const audited_change& change,
                     const std::string& stage) override {
    if (base::log_surely(base::event::audit, {{"stage", stage},
                                              {"action", std::string(change.action)},
                                              {"who", author.name},
                                              {"means", author.means},
                                              {"why", author.why},
                                              {"record", digest_of(change)},
                                              {"key", change.key},
                                              {"from", change.former},
                                              {"to", change.wanted},
                                              {"about", change.about}})) {
      return {};
    }
    return error(errc::invalid_argument,
                 "the audit log can't be written: the reader of the log does not keep up, or has "
                 "gone; give it a file of its own (audit_log)");
  }
};

class lines_of_file final : public audit_log {
 public:
  explicit lines_of_file(const std::string& path) : path_(path), file_(path) {}
  result<void> reopen() override { return file_.open(); }
  result<audit_page> read(const audit_query& query) const override {
    auto found = read_audit_file(path_, query);
    if (!found) return found.error();
    return *found ? result<audit_page>(**std::move(found)) : audit_log::read(query);
  }

 private:
  result<void> write(const audit_author& author, const audited_change& change,
                     const std::string& stage) override {
    nlohmann::ordered_json line;
    line["at"] = base::time_text(base::system_clock().wall_ms());
    line["stage"] = stage;
    line["action"] = change.action;
    line["who"] = author.name;
    line["means"] = author.means;
    line["why"] = author.why;
    line["record"] = digest_of(change);
    line["key"] = change.key;
    line["from"] = change.former;
    line["to"] = change.wanted;
    line["about"] = change.about;
    return file_.append(
        line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }

  const std::string path_;
  line_file file_;
};

audit_entry entry_of(const audit_author& author, const audited_change& change,
                     const std::string& stage) {
  return {.time = base::time_text(base::system_clock().wall_ms()),
          .stage = stage,
          .action = std::string(change.action),
          .author = author.name,
          .means = author.means,
          .why = author.why,
          .record = digest_of(change),
          .key = change.key,
          .former = change.former,
          .wanted = change.wanted,
          .about = change.about};
}

std::string name_of_user(uid_t id) {
  std::array<char, 4'096> room{};
  passwd found{};
  passwd* user = nullptr;
  const bool known = ::getpwuid_r(id, &found, room.data(), room.size(), &user) == 0 && user;
  return known ? std::string(user->pw_name) : "uid " + std::to_string(id);
}

}  // namespace

result<std::unique_ptr<audit_log>> audit_log::open(const std::string& file) {
  if (file.empty()) return std::unique_ptr<audit_log>(std::make_unique<log_events>());
  auto lines = std::make_unique<lines_of_file>(file);
  if (auto opened = lines->reopen(); !opened) return opened.error();
  return std::unique_ptr<audit_log>(std::move(lines));
}

result<void> audit_log::intend(const audit_author& author, const audited_change& change) {
  return add(author, change, "intended");
}

result<void> audit_log::conclude(const audit_author& author, const audited_change& change,
                                 const std::string& outcome) {
  return add(author, change, outcome);
}

result<void> audit_log::show(const audit_author& author, const audited_change& shown) {
  return add(author, shown, "done");
}

result<audit_page> audit_log::read(const audit_query& query) const { return recent_.read(query); }

result<void> audit_log::add(const audit_author& author, const audited_change& change,
                            const std::string& stage) {
  auto written = write(author, change, stage);
  if (written) recent_.add(entry_of(author, change, stage));
  return written;
}

std::string machine_user() {
  const auto id = ::getuid();
  const char* caller = id == 0 ? std::getenv("SUDO_USER") : nullptr;
  const auto name = name_of_user(id);
  return caller == nullptr ? name : name + " for " + caller;
}

std::string_view outcome_text(const result<resolve_decision>& resolved) {
  if (!resolved) return resolved.error().effect == effect::none ? "not done" : "unknown";
  switch (resolved->outcome) {
    case resolve_outcome::done:
      return "done";
    case resolve_outcome::not_found:
      return "not done: gone";
    case resolve_outcome::running:
      return "not done: running";
    case resolve_outcome::already_completed:
      return "not done: completed";
    case resolve_outcome::changed:
      return "not done: changed";
  }
  return "";
}

}  // namespace onceguard
