#include <array>

#include <onceguard/fingerprint.hpp>

#include "base/hash.hpp"

namespace onceguard {
namespace {

// Each kind of hash begins with its own domain, so that no hash can be mistaken for another kind. A
// change of the fingerprint's input needs a new number here; repeats of requests that are already
// stored would no longer match.
constexpr std::string_view fingerprint_domain = "onceguard fingerprint 1";
constexpr std::string_view record_domain = "onceguard record 1";
constexpr std::string_view scope_domain = "onceguard scope 1";

/// A word before the body says how the body was hashed: the exact bytes of one body can never match
/// the canonical form of another.
void add_body(base::sha256& hash, const fingerprint_rule& rule, const fingerprint_input& input) {
  if (rule.kind == fingerprint_kind::none) {
    hash.part("none");
    return;
  }
  if (rule.kind == fingerprint_kind::json) {
    if (const auto canonical = canonical_json(input.body, rule)) {
      hash.part("json").part(*canonical);
      return;
    }
  }
  hash.part("exact").part(input.content_type).part(input.body);
}

}  // namespace

fingerprint make_fingerprint(const fingerprint_rule& rule, const fingerprint_input& input) {
  fingerprint made{.method = rule.text()};
  base::sha256 hash;
  hash.part(fingerprint_domain).part(made.method);
  hash.part(input.upstream).part(input.method).part(input.path).part(input.query);
  add_body(hash, rule, input);
  hash.part(std::to_string(input.more.size()));
  for (const auto& part : input.more) hash.part(part);
  made.value = hash.finish();
  return made;
}

record_id make_record_id(const digest& scope, std::string_view key) {
  return base::sha256().part(record_domain).part(base::as_chars(scope)).part(key).finish();
}

digest make_scope_digest(std::string_view kind, std::string_view value) {
  return base::sha256().part(scope_domain).part(kind).part(value).finish();
}

}  // namespace onceguard
