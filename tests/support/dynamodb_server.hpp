// A stand-in for Amazon DynamoDB, of the tests' own: the npm package dynalite, on a free port of
// this machine. support/dynamodb_server.mjs says where it differs from DynamoDB, and what is added.
// Its tables are in memory, and are gone when it stops.
#pragma once
#include <cstdlib>
#include <fstream>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <string>

#include <onceguard/record.hpp>

#include "base/base64.hpp"
#include "support/free_port.hpp"
#include "support/node_program.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class dynamodb_server {
 public:
  static constexpr const char* key_id = "AKIDEXAMPLE";
  static constexpr const char* secret = "the-secret-of-the-tests";

  /// Starts it, and gives this process credentials.
  dynamodb_server() {
    ::setenv("AWS_ACCESS_KEY_ID", key_id, 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    ::unsetenv("AWS_SESSION_TOKEN");
    start();
  }
  dynamodb_server(const dynamodb_server&) = delete;
  dynamodb_server& operator=(const dynamodb_server&) = delete;
  ~dynamodb_server() { stop(); }

  [[nodiscard]] int port() const noexcept { return port_; }
  /// Of a table that nobody has used yet.
  [[nodiscard]] std::string new_table() { return "store-" + std::to_string(++made_); }
  [[nodiscard]] std::string url(const std::string& table) const { return url_at(port_, table); }
  /// `port`: of the server, or of what stands before it.
  [[nodiscard]] static std::string url_at(int port, const std::string& table) {
    return "dynamodb://us-east-1/" + table + "?endpoint=http://127.0.0.1:" + std::to_string(port);
  }

  /// Starts it and waits until it answers.
  void start() {
    if (server_) return;
    server_ = begin_program({},
                            {node_program(), tests_folder() / "support/dynamodb_server.mjs",
                             std::to_string(port_), key_id, secret},
                            folder_.file("log"));
    constexpr const char* question =
        "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    while (http_answer(port_, question).find("200 OK") == std::string::npos) {
      if (::waitpid(*server_, nullptr, WNOHANG) != 0) {
        server_.reset();
        throw std::runtime_error("dynalite does not start: " + output());
      }
      ::poll(nullptr, 0, 10);
    }
  }
  /// As a crash does it; all tables are gone.
  void stop() {
    if (!server_) return;
    ::kill(*server_, SIGKILL);
    wait_for_end(*server_);
    server_.reset();
  }
  /// None of its threads runs any more when this returns.
  void pause() const {
    ::kill(server_.value(), SIGSTOP);
    int status = 0;
    ::waitpid(*server_, &status, WUNTRACED);
  }
  void go_on() const { ::kill(server_.value(), SIGCONT); }

  /// A request as another program makes it; the answer's body.
  std::string ask(const std::string& action, const std::string& body) const {
    const auto answer =
        http_answer(port_, "POST / HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) +
                               "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Test-Admin: 1\r\n"
                               "X-Amz-Target: DynamoDB_20120810." +
                               action + "\r\nConnection: close\r\nContent-Length: " +
                               std::to_string(body.size()) + "\r\n\r\n" + body);
    const auto end = answer.find("\r\n\r\n");
    if (answer.find(" 200 OK") == answer.npos || end == answer.npos) {
      throw std::runtime_error(action + " failed: " + answer + output());
    }
    return answer.substr(end + 4);
  }
  /// Changes a bit of a record's attribute of bytes.
  void damage(const std::string& table, const std::string& id, const std::string& attribute) const {
    const auto item_key = R"("TableName":")" + table + R"(","Key":{"id":{"S":")" + id + R"("}})";
    const auto item = ask("GetItem", "{" + item_key + "}");
    const auto mark = '"' + attribute + R"(":{"B":")";
    const auto begin = item.find(mark) + mark.size();
    auto bytes = base::from_base64(item.substr(begin, item.find('"', begin) - begin)).value();
    bytes.at(20) = static_cast<char>(bytes.at(20) ^ 4);
    ask("UpdateItem", "{" + item_key +
                          R"(,"UpdateExpression":"SET #a = :b","ExpressionAttributeNames":)"
                          R"({"#a":")" +
                          attribute + R"("},"ExpressionAttributeValues":{":b":{"B":")" +
                          base::to_base64(bytes) + R"("}}})");
  }

 private:
  [[nodiscard]] std::string output() const {
    std::ostringstream out;
    out << std::ifstream(folder_.file("log")).rdbuf();
    return out.str();
  }

  temporary_folder folder_;
  int port_ = free_port();
  int made_ = 0;
  std::optional<pid_t> server_;
};

}  // namespace onceguard::testing
