// Handles of libcurl that end themselves. For sources only: curl.h is heavy.
#pragma once
#include <curl/curl.h>
#include <new>
#include <string>

#include "base/unique_handle.hpp"

namespace onceguard::aws {

using curl_handle = base::unique_handle<CURL, curl_easy_cleanup>;
using header_list = base::unique_handle<curl_slist, curl_slist_free_all>;

inline void add_header(header_list& list, const std::string& line) {
  auto* const longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
}

/// Prepares libcurl once, before its first use. Thread-safe.
inline void prepare_curl() {
  static const auto ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw std::bad_alloc();
}

}  // namespace onceguard::aws
