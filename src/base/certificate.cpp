#include "base/certificate.hpp"

#include <optional>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/file_text.hpp"
#include "base/unique_handle.hpp"

namespace onceguard::base {
namespace {

using grade = diagnosis::grade;
using bio_ptr = unique_handle<BIO, BIO_free>;

constexpr int soon = 30;  // days: long enough to renew it in working hours

using certificate_ptr = unique_handle<X509, X509_free>;

constexpr std::size_t file_size_max = 4u << 20;

diagnosis unreadable(const std::string& file, std::string id, std::string_view use,
                     const error& why) {
  return {grade::fault, std::move(id), std::string(use) + " " + file + " " + why.detail,
          "make the file readable for the user of the gateway, or correct its path"};
}

/// Days from now until the certificate ends; negative: it has ended.
int days_left(const X509& one) {
  int days = 0;
  int seconds = 0;
  ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(&one));
  return days <= 0 && seconds <= 0 ? days - 1 : days;
}

/// Of the certificate that ends first; empty: there is none in the file.
std::optional<int> least_days_left(const std::string& text) {
  std::optional<int> out;
  const bio_ptr input(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  while (const certificate_ptr one{PEM_read_bio_X509(input.get(), nullptr, nullptr, nullptr)}) {
    const auto days = days_left(*one);
    if (!out || days < *out) out = days;
  }
  ERR_clear_error();  // of the end of the file
  return out;
}

}  // namespace

diagnosis examine_certificate(const std::string& file, std::string id, std::string_view use) {
  const auto text = read_file(file, file_size_max);
  if (!text) return unreadable(file, std::move(id), use, text.error());
  const auto days = least_days_left(*text);
  const auto subject = std::string(use) + " " + file;
  if (!days) {
    return {grade::fault, std::move(id), subject + " holds no certificate",
            "give a file in PEM form, with -----BEGIN CERTIFICATE----- in it"};
  }
  if (*days < 0) {
    return {grade::fault, std::move(id), subject + " holds a certificate that has ended",
            "renew it"};
  }
  const auto left = subject + " ends in " + std::to_string(*days) + " days";
  if (*days < soon) return {grade::warning, std::move(id), left, "renew it"};
  return {grade::ok, std::move(id), left, {}};
}

diagnosis examine_key(const std::string& file, std::string id, std::string_view use) {
  const auto text = read_file(file, file_size_max);
  if (!text) return unreadable(file, std::move(id), use, text.error());
  return {grade::ok, std::move(id), std::string(use) + " " + file + " can be read", {}};
}

}  // namespace onceguard::base
