// A claim of a fresh key and an answer, as the benchmarks of the stores take them.
#pragma once
#include <array>
#include <memory>

#include <onceguard/decide.hpp>

#include "base/hex.hpp"
#include "base/random.hpp"

namespace onceguard::bench {

inline claim make_claim() {
  auto about = std::make_shared<subject>();
  base::random_bytes(about->scope);
  about->scope_kind = "credential";
  std::array<unsigned char, 16> key{};
  base::random_bytes(key);
  about->key = base::to_hex(key);
  about->method = "POST";
  about->path = "/v1/payments";
  about->route = "/v1/payments";
  about->print.method = "exact";
  base::random_bytes(about->print.value);
  claim out;
  base::random_bytes(out.id);
  base::random_bytes(out.claim_id);
  out.about = about;
  return out;
}

inline answer_ptr make_answer() {
  auto out = std::make_shared<answer>();
  out->status = 201;
  out->headers = {{"Content-Type", "application/json"}, {"Location", "/v1/payments/1234567890"}};
  out->body.assign(200, 'x');
  return out;
}

}  // namespace onceguard::bench
