// A connection on which a test speaks SQL, apart from the store that it tests.
#pragma once
#include <libpq-fe.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace onceguard::testing {

/// Blocks. What the server refuses is thrown.
class sql_session {
 public:
  explicit sql_session(const std::string& url) : on_(PQconnectdb(url.c_str()), PQfinish) {
    if (PQstatus(on_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(on_.get()));
    PQsetNoticeProcessor(
        on_.get(), [](void*, const char*) {}, nullptr);
  }

  /// One statement or several; the rows of the last one, as text.
  std::vector<std::vector<std::string>> run(const std::string& text) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> got(PQexec(on_.get(), text.c_str()),
                                                             PQclear);
    const auto status = PQresultStatus(got.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      throw std::runtime_error(PQresultErrorMessage(got.get()));
    }
    std::vector<std::vector<std::string>> out;
    for (int row = 0; row < PQntuples(got.get()); ++row) {
      auto& columns = out.emplace_back();
      for (int column = 0; column < PQnfields(got.get()); ++column) {
        columns.emplace_back(PQgetvalue(got.get(), row, column));
      }
    }
    return out;
  }
  /// The only value of the only row.
  std::string value(const std::string& text) { return run(text).at(0).at(0); }

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> on_;
};

}  // namespace onceguard::testing
