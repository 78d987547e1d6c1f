#include "store/redis/wire.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "store/redis/arguments.hpp"
#include "store/redis/stored.hpp"
#include "store/view.hpp"

namespace onceguard::redis {
namespace {

std::string_view text_of(bool flag) { return flag ? "1" : "0"; }

std::string_view name_of(unknown_policy policy) {
  switch (policy) {
    case unknown_policy::probe:
      return "probe";
    case unknown_policy::rerun:
      return "rerun";
    case unknown_policy::hold:
      break;
  }
  return "hold";
}

std::string_view name_of(settle_kind kind) {
  constexpr std::array<std::string_view, 4> names{"complete", "fail", "release", "abandon"};
  return names.at(static_cast<std::size_t>(kind));
}

template <class Enum>
Enum choice(const reply& said, Enum highest) {
  return said.number<Enum>(static_cast<std::uint64_t>(highest));
}

milliseconds length_in(const reply& said) { return milliseconds(said.integer()); }

constexpr std::uint64_t any = ~std::uint64_t{0};
constexpr std::uint64_t status_max = 65'535;

void read_run(verdict& out, const reply& said, const claim& asked) {
  out.lease.token = said.at(2).number<token>(any);
  out.lease.claim_id = asked.claim_id;
  out.lease.attempt = said.at(3).number<std::uint32_t>(0xffff'ffff);
  const auto state = choice(said.at(4), record_state::probing);
  out.lease.probe = state == record_state::probing;
  out.lease.started = state == record_state::started;
}

void read_unknown(verdict& out, const reply& said) {
  out.why = choice(said.at(2), unknown_reason::probe_inconclusive);
  out.why_status = said.at(3).number<std::uint16_t>(status_max);
  out.since = length_in(said.at(4));
  out.retry_after = length_in(said.at(5));
}

struct named_verdict {
  std::string_view name;
  verdict_kind kind;
};
constexpr std::array<named_verdict, 8> verdicts{{
    {"run", verdict_kind::run},
    {"busy", verdict_kind::busy},
    {"replay", verdict_kind::replay},
    {"mismatch", verdict_kind::mismatch},
    {"backoff", verdict_kind::backoff},
    {"unknown", verdict_kind::unknown},
    {"remake_fingerprint", verdict_kind::remake_fingerprint},
    {"refused", verdict_kind::refused},
}};

}  // namespace

// --- claims ---------------------------------------------------------------------------------

std::optional<error> claims::complaint(const claim& asked) {
  return asked.about ? too_large(*asked.about) : subject_missing();
}

void claims::write(std::string& to, const script_calls& how, const keyspace& names,
                   const claim& asked, bool unheard) {
  // In a cluster an answer to a later repeat of it may have been heard, by another server.
  const bool anew = unheard && !names.cut();
  append_call(to, how, script::claim, names.record(asked.id), names.counters(),
              {base::as_chars(asked.claim_id), text_of(asked.lease),
               asked.into_started ? "started" : "in_progress", name_of(asked.unknown),
               text_of(asked.probe_after), text_of(asked.unknown_retention),
               text_of(asked.maybe_repeated), encode_subject(*asked.about), text_of(anew)});
}

bool claims::may_be_first(const claim& asked) {
  // What is longer than for ever is cut to a length that Redis takes, by the script's arguments.
  const bool fits = asked.lease > milliseconds(0) && asked.lease <= for_ever &&
                    asked.unknown_retention >= milliseconds(0) &&
                    asked.unknown_retention <= for_ever;
  return fits && !asked.repeated && first_lives(asked) >= record_stays;
}

void claims::write_first(std::string& to, const keyspace& names, const claim& asked, token given) {
  append_count(to, 6);
  const auto& before = names.before_record(asked.id);
  append_word(to, "SET");
  append_word(to, before.size() + asked.id.size(),
              [&] { to.append(before).append(base::as_chars(asked.id)); });
  append_word(to, size_of_first(asked), [&] { append_first(to, asked, given); });
  append_word(to, "NX");
  append_word(to, "PX");
  append_word(to, decimal(first_lives(asked).count()));
}

verdict claims::granted_first(const claim& asked, token given) {
  verdict out;
  out.kind = verdict_kind::run;
  out.lease.token = given;
  out.lease.claim_id = asked.claim_id;
  out.lease.attempt = 1;
  out.lease.started = asked.into_started;
  return out;
}

result<verdict> claims::read(const reply& said, const claim& asked) {
  const auto name = said.at(0).text();
  const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                  [name](const auto& each) { return each.name == name; });
  if (found == verdicts.end()) throw unexpected_reply("no such verdict");
  verdict out;
  out.kind = found->kind;
  switch (out.kind) {
    case verdict_kind::run:
      read_run(out, said, asked);
      break;
    case verdict_kind::replay: {
      out.kept = choice(said.at(2), answer_kept::none);
      out.retention_left = length_in(said.at(3));
      auto kept = decode_answer(said.at(4).text(), said.at(5).text());
      if (!kept) return kept.error();
      out.answer = std::move(*kept);
      break;
    }
    case verdict_kind::busy:
    case verdict_kind::backoff:
      out.retry_after = length_in(said.at(2));
      break;
    case verdict_kind::unknown:
      read_unknown(out, said);
      break;
    case verdict_kind::remake_fingerprint:
      out.fingerprint_method = said.at(2).text();
      break;
    case verdict_kind::mismatch:
    case verdict_kind::refused:
      break;
  }
  return out;
}

// --- settles --------------------------------------------------------------------------------

std::optional<error> settles::complaint(const settlement& how) {
  if (auto why = too_large(how.token)) return why;
  return how.about ? too_large(*how.about) : std::nullopt;
}

void settles::write(std::string& to, const script_calls& how, const keyspace& names,
                    const settlement& what) {
  const auto bytes = what.answer ? encode_answer(*what.answer) : std::string();
  append_call(
      to, how, script::settle, names.record(what.id), names.counters(),
      {decimal(what.token), base::as_chars(what.claim_id), name_of(what.kind),
       text_of(what.retention), text_of(what.backoff), text_of(what.backoff_max),
       decimal(static_cast<int>(what.why)), decimal(what.why_status), text_of(what.probe_pause),
       text_of(what.by_application), what.about ? encode_subject(*what.about) : std::string(),
       decimal(static_cast<int>(what.kept)), bytes, answer_sum(bytes), names.settled()});
}

result<settled> settles::read(const reply& said, const settlement&) {
  const auto name = said.at(0).text();
  settled out;
  if (name == "needs_subject") return subject_missing();
  if (name == "incident") {
    out.outcome = settle_outcome::incident;
  } else if (name == "stale") {
    out.outcome = settle_outcome::stale;
  } else if (name != "done") {
    throw unexpected_reply("no such outcome of a settle");
  }
  out.state = choice(said.at(2), observed_state::unknown);
  out.kept = choice(said.at(3), answer_kept::none);
  auto kept = decode_answer(said.at(4).text(), said.at(5).text());
  if (!kept) return kept.error();
  out.answer = std::move(*kept);
  return out;
}

// --- extensions -----------------------------------------------------------------------------

std::optional<error> extensions::complaint(const extension& how) { return too_large(how.token); }

void extensions::write(std::string& to, const script_calls& how, const keyspace& names,
                       const extension& what) {
  append_call(to, how, script::extend, names.record(what.id), names.counters(),
              {decimal(what.token), base::as_chars(what.claim_id), text_of(what.lease),
               text_of(what.dispatch)});
}

result<bool> extensions::read(const reply& said, const extension&) {
  const auto name = said.at(0).text();
  if (name != "held" && name != "stale") throw unexpected_reply("no such outcome of a renewal");
  return name == "held";
}

}  // namespace onceguard::redis
