// What work a request asks for, whoever sends it and however it is written down.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/fingerprint.hpp>

#include "core/body_view.hpp"

namespace onceguard::core {

/// Two digests of 16 hex digits with a colon between them: of method, path and the headers that
/// name the operation, and of the body. The query doesn't count, nor do order, spacing and coding,
/// nor fields that count attempts, sign, or hold tokens against forged requests. A second digest of
/// "-": no telling. Never differs between requests that have the same fingerprint by the same rule.
[[nodiscard]] std::string work_digests(const fingerprint_rule& rule, const fingerprint_input& input,
                                       const body_view& body);

/// Whether two fingerprints, by what their methods tell, are surely of different work. False: it is
/// the same work, or nobody knows.
[[nodiscard]] bool other_work(std::string_view method, std::string_view other_method) noexcept;

/// Whether a header of the rule's list is there with this sign: '+' adds it, '-' takes it out.
[[nodiscard]] bool lists_header(const fingerprint_rule& rule, char sign,
                                std::string_view name) noexcept;

}  // namespace onceguard::core
