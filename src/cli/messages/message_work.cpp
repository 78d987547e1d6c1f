#include "cli/messages/message_work.hpp"

#include <iostream>
#include <set>

#include "base/value_text.hpp"
#include "cli/store_work.hpp"
#include "config/stores.hpp"

namespace onceguard::cli::messages {

using boost::asio::awaitable;

namespace {

/// The tables [[consume]] that were chosen: each queue of dead letters once. Empty, with a message
/// on standard error: there are none.
std::vector<const consume::consume_params*> tables_of(const config::settings& settings,
                                                      const message_terms& terms) {
  std::vector<const consume::consume_params*> out;
  std::set<std::pair<std::string, std::string>> seen;
  std::set<std::string> names;
  for (const auto& each : settings.consumers) {
    names.insert(each.subscriber);
    const auto& wanted = terms.choice.subscriber;
    if (!wanted.empty() && each.subscriber != wanted) continue;
    const auto url = consume::dead_letter_box_url(each);
    if (seen.emplace(each.subscriber, url ? *url : std::string()).second) out.push_back(&each);
  }
  if (names.empty()) {
    std::cerr << "onceguard: the configuration has no [[consume]]: whose messages?\n";
  } else if (out.empty()) {
    std::cerr << "onceguard: the configuration has no [[consume]] with the subscriber "
              << terms.choice.subscriber << "\n";
  } else if (terms.changes && terms.choice.subscriber.empty() && names.size() > 1) {
    std::cerr << "onceguard: the configuration has several subscribers; choose one with "
                 "--subscriber\n";
    out.clear();
  }
  return out;
}

result<guard> open_records(const config::settings& settings) {
  auto opened = config::open_store(settings);
  if (!opened) return opened.error();
  guard_params params;
  params.store_timeout = settings.store.timeout;
  params.engine.state_dir = settings.gateway.state_dir;
  return guard::open(std::unique_ptr<store>(std::move(*opened)), params);
}

awaitable<int> work_on(const message_terms& terms, chosen_letters& chosen,
                       const letters_work& work) {
  auto read = chosen.box.read(*base::parse_duration(terms.choice.wait));
  if (!read) co_return complain(read.error());
  if (read->size() >= terms.choice.limit) {
    std::cerr << "onceguard: looked at the first " << terms.choice.limit
              << "; there may be more: --limit\n";
  }
  for (auto& letter : *read) {
    const auto timeout = chosen.settings.store.timeout;
    auto known = co_await find_record_of(chosen.records.records(), chosen.params, std::move(letter),
                                         timeout);
    if (!known) co_return complain(known.error());
    if (terms.choice.fits(*known)) chosen.letters.push_back(std::move(*known));
    chosen.box.hold();
  }
  if (chosen.letters.empty()) co_return exit_not_found;
  co_return co_await work(chosen);
}

/// Returns the exit code.
awaitable<int> work_on_table(const message_terms& terms, const consume::consume_params& params,
                             const config::settings& settings, guard& records, change_log* changes,
                             const letters_work& work) {
  auto box = consume::dead_letter_box::open(params, terms.choice.limit);
  if (!box) co_return complain(box.error());
  chosen_letters chosen{params, settings, records, *box, changes, {}};
  const int code = co_await work_on(terms, chosen, work);
  const auto back = box->put_back();
  if (back) co_return code;
  std::cerr << "onceguard: " << back.error().detail
            << "; the letters come again when the broker finds out that nobody holds them\n";
  co_return code == exit_ok ? exit_failed : code;
}

awaitable<int> work_on_all(const message_terms& terms, const config::settings& settings,
                           guard& records, change_log* changes, const letters_work& work) {
  int out = exit_not_found;
  for (const auto* each : tables_of(settings, terms)) {
    const int code = co_await work_on_table(terms, *each, settings, records, changes, work);
    if (out == exit_not_found || (code != exit_ok && code != exit_not_found)) out = code;
  }
  co_return out;
}

}  // namespace

int with_letters(const message_terms& terms, const letters_work& work) {
  const auto settings = load_settings(terms.given, false);
  if (!settings) return exit_configuration;
  if (tables_of(*settings, terms).empty()) return exit_usage;
  if (const auto why = unusable_store(settings->store.url); !why.empty()) {
    std::cerr << "onceguard: " << why << "\n";
    return exit_store;
  }
  const auto changes =
      terms.changes ? change_log::open(*settings, terms.means, terms.why) : nullptr;
  if (terms.changes && !changes) return exit_failed;
  auto records = open_records(*settings);
  if (!records) return complain(records.error());
  const auto all = [&] { return work_on_all(terms, *settings, *records, changes.get(), work); };
  return run_work(all);
}

}  // namespace onceguard::cli::messages
