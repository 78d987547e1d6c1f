#include "cli/diagnose/route_advice.hpp"

namespace onceguard::cli::diagnose {
namespace {

std::string requests_text(std::uint64_t number) {
  return std::to_string(number) + (number == 1 ? " request" : " requests");
}

std::uint64_t number_of(const numbers_by_name& numbers, std::string_view name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second;
}

class advices {
 public:
  /// If `number` is not 0.
  void add(std::uint64_t number, const char* setting, const std::string& why) {
    if (number != 0) out_.push_back({setting, requests_text(number) + " " + why});
  }
  void add(const char* setting, std::string why) { out_.push_back({setting, std::move(why)}); }
  [[nodiscard]] std::vector<advice> all() && { return std::move(out_); }

 private:
  std::vector<advice> out_;
};

/// What stands in the way of guarding.
void add_obstacles(const route_traffic& seen, advices& out) {
  const auto& problems = seen.problems;
  out.add(number_of(problems, "key-missing"), "required = false",
          "without a key: 400 where one is required; let their clients send keys first");
  out.add(number_of(problems, "key-malformed"), "key_syntax",
          "with a key that is refused; \"lenient\" takes more, the rest is for their clients");
  out.add(number_of(problems, "scope-missing"), "scope",
          "without the scope's source, with it twice, or with an Authorization that is signed anew "
          "for each try; choose one that all clients send, auth-param:NAME of a signed one");
  out.add(seen.other_scopes, "scope",
          "with the key and content of another one, under another scope: they run again. Most "
          "likely a credential was renewed between two tries; take what stays of it");
  out.add(number_of(problems, "request-too-large"), "max_request_body",
          "with a longer body: 413 with a key");
  out.add(seen.count("mismatch"), "fingerprint",
          "with the key of another one: 422. Either clients use keys again, or what differs is no "
          "part of the operation: fingerprint = \"json\" with fingerprint_omit leaves it out");
  out.add(seen.anonymous, "scope",
          "with a key and without credentials: they share one scope; name a source that tells "
          "callers apart");
  out.add(seen.not_compared, "max_request_body",
          "whose body was not read wholly: they are counted and not compared");
}

void add_keys(const route_traffic& seen, advices& out) {
  out.add(seen.contents_repeated, "required = true",
          "with the content of another one, and no key or another: only keys from their clients "
          "can make them one operation; require keys once all send them");
  if (seen.with_key == 0) {
    out.add("key", "no request has a usable key: guarding changes nothing until clients send them");
  } else if (seen.without_key == 0 && seen.count("refused") == 0) {
    out.add("required = true",
            "every request has a key: nothing would be refused, and a client "
            "that forgets its key is noticed");
  } else {
    out.add(seen.without_key, "required = false", "without a key pass unguarded");
  }
}

}  // namespace

std::vector<advice> advise(const route_traffic& seen) {
  advices out;
  if (seen.requests == 0) return {};
  add_obstacles(seen, out);
  add_keys(seen, out);
  if (seen.observed == 0 || seen.with_key == 0) return std::move(out).all();
  if (seen.count("refused") + seen.count("mismatch") + seen.other_scopes == 0) {
    out.add("observe = false", "guarding refuses none of these requests; " +
                                   requests_text(seen.repeats) + " repeated a key, and " +
                                   requests_text(seen.replays()) +
                                   " would have got the first answer");
  } else {
    out.add("observe = true", "guarding would refuse " +
                                  requests_text(seen.count("refused") + seen.count("mismatch")) +
                                  " and would not know " + requests_text(seen.other_scopes) +
                                  " again: see above first");
  }
  return std::move(out).all();
}

}  // namespace onceguard::cli::diagnose
