// A record and its clocks, moved by the pure functions alone.
#pragma once
#include <gtest/gtest.h>

#include <onceguard/decide.hpp>

namespace onceguard {

inline constexpr std::int64_t hour = 3'600'000;

inline subject_ptr about(unsigned char body = 1, std::string method = "exact") {
  auto s = std::make_shared<subject>();
  s->key = "k";
  s->method = "POST";
  s->path = "/charges";
  s->print.method = std::move(method);
  s->print.value[0] = body;
  s->run_timeout = milliseconds(60'000);
  return s;
}

inline onceguard::claim_id claim_id_of(unsigned char n) {
  claim_id out{};
  out[0] = n;
  return out;
}

inline claim claim_of(unsigned char n, unknown_policy unknown = unknown_policy::hold) {
  claim c;
  c.claim_id = claim_id_of(n);
  c.about = about();
  c.lease = milliseconds(1'000);
  c.unknown = unknown;
  return c;
}

inline settlement settle_of(const lease& l, settle_kind kind) {
  settlement s;
  s.token = l.token;
  s.claim_id = l.claim_id;
  s.about = about();
  s.kind = kind;
  s.retention = milliseconds(24 * hour);
  auto a = std::make_shared<answer>();
  a->status = 201;
  a->body = "first";
  s.answer = a;
  s.why = unknown_reason::upstream_timeout;
  return s;
}

/// A record and its clocks, moved by the pure functions alone.
class decide_walk : public ::testing::Test {
 protected:
  instant now{.lease = 1'000'000, .wall = 1'700'000'000'000};
  std::optional<record> stored;
  token next = 100;

  const record* there() const { return stored ? &*stored : nullptr; }
  void pass(std::int64_t ms) { now.lease += ms, now.wall += ms; }

  verdict ask(const claim& c) {
    auto d = decide(there(), c, now, next);
    if (d.write) {
      if (d.verdict.kind == verdict_kind::run && d.verdict.lease.token == next) ++next;
      stored = std::move(d.write);
    }
    return d.verdict;
  }
  verdict ask(unsigned char n, unknown_policy unknown = unknown_policy::hold) {
    return ask(claim_of(n, unknown));
  }
  settled end(const settlement& s) {
    auto d = decide_settle(there(), s, now);
    if (d.write) stored = std::move(d.write);
    return d.result;
  }
  settled end(const lease& l, settle_kind kind) { return end(settle_of(l, kind)); }
  bool extend(const lease& l, bool dispatch = false) {
    extension e;
    e.token = l.token;
    e.claim_id = l.claim_id;
    e.lease = milliseconds(1'000);
    e.dispatch = dispatch;
    auto d = decide_extension(there(), e, now);
    if (d.write) stored = std::move(d.write);
    return !d.stale;
  }
  resolve_decision resolve(bool completed, bool force = false) {
    resolution request;
    request.completed = completed;
    request.force = force;
    auto d = decide_resolution(there(), request, now);
    if (d.write) stored = *d.write;
    return d;
  }
  observed_state state() const { return observe(*stored, now); }
};

}  // namespace onceguard
