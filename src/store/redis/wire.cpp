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
Enum choice(const reply& reply, Enum highest) {
  return reply.number<Enum>(static_cast<std::uint64_t>(highest));
}

milliseconds length_in(const reply& reply) { return milliseconds(reply.integer()); }

constexpr std::uint64_t any = ~std::uint64_t{0};
constexpr std::uint64_t status_max = 65'535;

void read_run(verdict& out, const reply& reply, const claim& request) {
  out.lease.token = reply.at(2).number<token>(any);
  out.lease.claim_id = request.claim_id;
  out.lease.attempt = reply.at(3).number<std::uint32_t>(0xffff'ffff);
  const auto state = choice(reply.at(4), record_state::probing);
  out.lease.probe = state == record_state::probing;
  out.lease.started = state == record_state::started;
}

void read_unknown(verdict& out, const reply& reply) {
  out.why = choice(reply.at(2), unknown_reason::probe_inconclusive);
  out.why_status = reply.at(3).number<std::uint16_t>(status_max);
  out.since = length_in(reply.at(4));
  out.retry_after = length_in(reply.at(5));
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

std::optional<error> claims::complaint(const claim& request) {
  return request.about ? too_large(*request.about) : subject_missing();
}

void claims::write(std::string& text, const script_calls& scripts, const keyspace& names,
                   const claim& request, bool unheard) {
  // In a cluster another server may have answered a later sending of the claim.
  const bool anew = unheard && !names.cut();
  append_call(text, scripts, script::claim, names.record(request.id), names.counters(),
              {base::as_chars(request.claim_id), text_of(request.lease),
               request.into_started ? "started" : "in_progress", name_of(request.unknown),
               text_of(request.probe_after), text_of(request.unknown_retention),
               text_of(request.maybe_repeated), encode_subject(*request.about), text_of(anew)});
}

bool claims::may_be_first(const claim& request) {
  // A longer lease needs the script, whose arguments cut it to a length that Redis accepts.
  const bool fits = request.lease > milliseconds(0) && request.lease <= for_ever &&
                    request.unknown_retention >= milliseconds(0) &&
                    request.unknown_retention <= for_ever;
  return fits && !request.repeated && first_lives(request) >= record_stays;
}

void claims::write_first(std::string& text, const keyspace& names, const claim& request,
                         token given) {
  append_count(text, 6);
  const auto& before = names.before_record(request.id);
  append_word(text, "SET");
  append_word(text, before.size() + request.id.size(),
              [&] { text.append(before).append(base::as_chars(request.id)); });
  append_word(text, size_of_first(request), [&] { append_first(text, request, given); });
  append_word(text, "NX");
  append_word(text, "PX");
  append_word(text, decimal(first_lives(request).count()));
}

verdict claims::granted_first(const claim& request, token given) {
  verdict out;
  out.kind = verdict_kind::run;
  out.lease.token = given;
  out.lease.claim_id = request.claim_id;
  out.lease.attempt = 1;
  out.lease.started = request.into_started;
  return out;
}

result<verdict> claims::read(const reply& reply, const claim& request) {
  const auto kind = reply.at(0).text();
  const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                  [kind](const auto& each) { return each.name == kind; });
  if (found == verdicts.end()) throw unexpected_reply("no such verdict");
  verdict out;
  out.kind = found->kind;
  switch (out.kind) {
    case verdict_kind::run:
      read_run(out, reply, request);
      break;
    case verdict_kind::replay: {
      out.kept = choice(reply.at(2), answer_kept::none);
      out.retention_left = length_in(reply.at(3));
      auto kept = decode_answer(reply.at(4).text(), reply.at(5).text());
      if (!kept) return kept.error();
      out.answer = std::move(*kept);
      break;
    }
    case verdict_kind::busy:
    case verdict_kind::backoff:
      out.retry_after = length_in(reply.at(2));
      break;
    case verdict_kind::unknown:
      read_unknown(out, reply);
      break;
    case verdict_kind::remake_fingerprint:
      out.fingerprint_method = reply.at(2).text();
      break;
    case verdict_kind::mismatch:
    case verdict_kind::refused:
      break;
  }
  return out;
}

// --- settles --------------------------------------------------------------------------------

std::optional<error> settles::complaint(const settlement& request) {
  if (auto why = too_large(request.token)) return why;
  return request.about ? too_large(*request.about) : std::nullopt;
}

void settles::write(std::string& text, const script_calls& scripts, const keyspace& names,
                    const settlement& request) {
  const auto bytes = request.answer ? encode_answer(*request.answer) : std::string();
  append_call(text, scripts, script::settle, names.record(request.id), names.counters(),
              {decimal(request.token), base::as_chars(request.claim_id), name_of(request.kind),
               text_of(request.retention), text_of(request.backoff), text_of(request.backoff_max),
               decimal(static_cast<int>(request.why)), decimal(request.why_status),
               text_of(request.probe_pause), text_of(request.by_application),
               request.about ? encode_subject(*request.about) : std::string(),
               decimal(static_cast<int>(request.kept)), bytes, answer_sum(bytes), names.settled()});
}

result<settled> settles::read(const reply& reply, const settlement&) {
  const auto kind = reply.at(0).text();
  settled out;
  if (kind == "needs_subject") return subject_missing();
  if (kind == "incident") {
    out.outcome = settle_outcome::incident;
  } else if (kind == "stale") {
    out.outcome = settle_outcome::stale;
  } else if (kind != "done") {
    throw unexpected_reply("no such outcome of a settle");
  }
  out.state = choice(reply.at(2), observed_state::unknown);
  out.kept = choice(reply.at(3), answer_kept::none);
  auto kept = decode_answer(reply.at(4).text(), reply.at(5).text());
  if (!kept) return kept.error();
  out.answer = std::move(*kept);
  return out;
}

// --- extensions -----------------------------------------------------------------------------

std::optional<error> extensions::complaint(const extension& request) {
  return too_large(request.token);
}

void extensions::write(std::string& text, const script_calls& scripts, const keyspace& names,
                       const extension& request) {
  append_call(text, scripts, script::extend, names.record(request.id), names.counters(),
              {decimal(request.token), base::as_chars(request.claim_id), text_of(request.lease),
               text_of(request.dispatch)});
}

result<bool> extensions::read(const reply& reply, const extension&) {
  const auto kind = reply.at(0).text();
  if (kind != "held" && kind != "stale") throw unexpected_reply("no such outcome of a renewal");
  return kind == "held";
}

}  // namespace onceguard::redis
