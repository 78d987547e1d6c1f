#include "tls/peer_name.hpp"

#include <array>
#include <span>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "base/hex.hpp"
#include "base/unique_handle.hpp"

namespace onceguard::tls {
namespace {

std::string uri_of(const X509& shown) {
  const base::unique_handle<GENERAL_NAMES, GENERAL_NAMES_free> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&shown, NID_subject_alt_name, nullptr, nullptr)));
  std::string out;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const auto* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    if (!out.empty()) return {};  // which of the two is the client?
    const auto* text = name->d.uniformResourceIdentifier;
    out.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
               static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  return out;
}

std::string subject_of(const X509& shown) {
  const base::unique_handle<BIO, BIO_free> written(BIO_new(BIO_s_mem()));
  const auto* subject = X509_get_subject_name(&shown);
  if (!written || X509_NAME_entry_count(subject) == 0) return {};
  if (X509_NAME_print_ex(written.get(), subject, 0, XN_FLAG_RFC2253) < 0) return {};
  char* text = nullptr;
  const auto size = BIO_get_mem_data(written.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

std::string name_of_peer(const X509& shown, peer_name wanted) {
  if (wanted == peer_name::uri) {
    if (const auto uri = uri_of(shown); !uri.empty()) return "uri:" + uri;
  }
  if (wanted == peer_name::subject) {
    if (const auto subject = subject_of(shown); !subject.empty()) return "subject:" + subject;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(&shown, EVP_sha256(), digest.data(), &size) != 1) return {};
  return base::to_hex(std::span<const unsigned char>(digest.data(), size));
}

}  // namespace onceguard::tls
