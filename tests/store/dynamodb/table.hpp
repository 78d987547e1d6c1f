// Tables of the DynamoDB stand-in, and stores on them.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>

#include "store/dynamodb/dynamodb_store.hpp"
#include "support/dynamodb_server.hpp"

namespace onceguard::testing {

/// As "onceguard migrate" makes it.
inline void make_dynamodb_table(const std::string& url) {
  store_params params;
  params.url = url;
  const auto made = dynamodb_store_kind().schema->migrate(params, false);
  if (!made) throw std::runtime_error(made.error().detail);
}

inline std::unique_ptr<dynamodb::dynamodb_store> open_dynamodb(
    const dynamodb::dynamodb_params& params) {
  auto opened = dynamodb::dynamodb_store::open(params);
  if (!opened) throw std::runtime_error(opened.error().detail);
  return std::move(*opened);
}

/// The server of all tests of a program.
inline dynamodb_server& shared_dynamodb() {
  static dynamodb_server all;
  return all;
}

}  // namespace onceguard::testing
