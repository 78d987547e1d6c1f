// The options tls_… of an endpoint that messages are POSTed to, and its files: of [[consume]] and
// [[relay]].
#pragma once
#include <string>
#include <string_view>

#include "config/table/option.hpp"
#include "config/table/remark.hpp"
#include "tls/context.hpp"

namespace onceguard::config {

inline constexpr option tls_ca_option{
    .name = "tls_ca",
    .example = "/etc/onceguard/internal-ca.pem",
    .text =
        "A PEM file with the authorities that the certificate of `to` may be of, with "
        "`https://`. Empty: those of the system. A broker's URL has parameters of the same "
        "names.",
    .may_be_empty = true};
inline constexpr option tls_certificate_option{
    .name = "tls_certificate",
    .example = "/etc/onceguard/onceguard.pem",
    .text = "A PEM file with the certificate, and its chain, that is shown to it. Empty: none.",
    .may_be_empty = true};
inline constexpr option tls_key_option{.name = "tls_key",
                                       .example = "/etc/onceguard/onceguard.key",
                                       .text = "The PEM file with the key of `tls_certificate`.",
                                       .may_be_empty = true};
inline constexpr option tls_name_option{
    .name = "tls_name",
    .example = "events.internal",
    .text =
        "The name that its certificate must have, and that is asked for. Empty: the host of "
        "`to`.",
    .may_be_empty = true};

/// What the file of the secrets and those of TLS are for.
struct endpoint_files {
  bool is_secure = false;  ///< by https://
  const tls::client_files& tls;
  const std::string& secrets;
};

/// Says what is wrong with the options tls_…, and with the files that are named. `table`:
/// "[[relay]]".
void check_endpoint_files(const endpoint_files& files, const origin& position,
                          std::string_view table, remarks& out);

}  // namespace onceguard::config
