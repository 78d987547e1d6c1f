#include "cli/services/letter_listing.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "cli/messages/letter_acts.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli::services {

using boost::asio::awaitable;
using nlohmann::ordered_json;

namespace {

/// How long a broker may send nothing before that is all there is.
constexpr milliseconds quiet{1'000};

ordered_json letter_entry(const std::string& subscriber, const messages::known_letter& one,
                          letter_names& names) {
  auto out = messages::letter_json(subscriber, one, false);
  out["message"] = names.next(one.letter);
  if (const auto token = token_of(one); token != 0) out["token"] = token;
  if (const auto revision = revision_of(one)) out["revision"] = *revision;
  const auto why = messages::obstacle_to_retry(one);
  if (!why.empty()) out["not_again"] = why;
  return out;
}

}  // namespace

std::vector<const consume::consume_params*> tables_of(const config::settings& settings,
                                                      const std::string& name) {
  std::vector<const consume::consume_params*> out;
  std::set<std::string> seen;
  for (const auto& each : settings.consumers) {
    if (each.subscriber != name) continue;
    const auto url = consume::dead_letter_box_url(each);
    if (seen.insert(url ? *url : std::string()).second) out.push_back(&each);
  }
  return out;
}

std::string listing_key(const config::settings& settings, const std::string& name) {
  auto out = name;
  for (const auto* each : tables_of(settings, name)) {
    const auto url = consume::dead_letter_box_url(*each);
    out += '\n';
    if (url) out += *url;
  }
  return out;
}

bool reading_is_counted(const config::settings& settings, const std::string& name) {
  return std::ranges::any_of(tables_of(settings, name),
                             [](const auto* each) { return consume::reading_is_counted(*each); });
}

awaitable<result<void>> with_box(const consume::consume_params& params, guard& records,
                                 milliseconds timeout, const box_work& work) {
  auto box = consume::dead_letter_box::open(params, letters_max);
  if (!box) co_return box.error();
  auto read = box->read(quiet);
  result<void> out;
  if (!read) out = read.error();
  std::vector<messages::known_letter> letters;
  for (std::size_t i = 0; read && out && i < read->size(); ++i) {
    auto known = co_await messages::find_record_of(records.records(), params, std::move((*read)[i]),
                                                   timeout);
    if (known) {
      letters.push_back(*std::move(known));
    } else {
      out = known.error();
    }
    box->hold();
  }
  if (out) out = co_await work(*box, std::move(letters));
  const auto back = box->put_back();
  if (out && !back) {
    out = error(back.error().code, back.error().detail +
                                       "; the letters come again when the broker finds out that "
                                       "nobody holds them");
  }
  co_return out;
}

void letter_listing::add(const messages::known_letter& one) {
  listed_.push_back(letter_entry(name_, one, names_));
}

std::string letter_listing::body(bool counted, bool read) const {
  ordered_json out{{"worker", name_}, {"counted", counted}};
  if (read) out["looked_at"] = time_text(base::system_clock().wall_ms());
  out["messages"] = listed_;
  out["more"] = more_;
  out["faults"] = faults_;
  return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

awaitable<void> list_letters(const config::settings& settings, guard& records, std::string name,
                             letter_listing& out) {
  const box_work list =
      [&](consume::dead_letter_box&,
          std::vector<messages::known_letter> letters) -> awaitable<result<void>> {
    for (const auto& one : letters) out.add(one);
    if (letters.size() >= letters_max) out.add_more();
    co_return result<void>();
  };
  for (const auto* each : tables_of(settings, name)) {
    const auto done = co_await with_box(*each, records, settings.store.timeout, list);
    if (!done) out.add_fault(done.error());
  }
}

}  // namespace onceguard::cli::services
