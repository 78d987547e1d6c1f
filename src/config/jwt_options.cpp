// The options of [jwt].
#include "config/all_options.hpp"

namespace onceguard::config {

using namespace values;

namespace {

const row<settings> jwt_table[]{
    {{.name = "keys_file",
      .flag = "jwt-keys-file",
      .example = "/etc/onceguard/jwks.json",
      .text = "A JSON Web Key Set (RFC 7517) with the keys of the issuer. It is read again "
              "when it changes; a content that can't be used is logged, and the keys stay.",
      .may_be_empty = true},
     assign<&settings::jwt, &jwt_params::keys_file>},
    {{.name = "issuer",
      .flag = "jwt-issuer",
      .example = "https://login.example.com",
      .text = "What `iss` of a token must be. Empty: what the member `iss` of its key "
              "says; of keys without one, anything. The issuer is part of the scope "
              "either way.",
      .may_be_empty = true},
     assign<&settings::jwt, &jwt_params::issuer>},
    {{.name = "audience",
      .flag = "jwt-audience",
      .example = "https://api.example.com",
      .text = "What `aud` of a token must be, or have in it. Empty: anything.",
      .may_be_empty = true},
     assign<&settings::jwt, &jwt_params::audience>},
    {{.name = "leeway",
      .flag = "jwt-leeway",
      .kind = value_kind::duration,
      .fallback = "60s",
      .text = "By how much the issuer's clock may differ, for `exp` and `nbf`.",
      .max = hour},
     assign<&settings::jwt, &jwt_params::leeway>},
};

}  // namespace

std::span<const row<settings>> jwt_rows() { return jwt_table; }

}  // namespace onceguard::config
