// A stand-in for Kafka: the mock cluster of librdkafka, in a process of its own.
//   kafka_server PORT
// Each connection to the port is one order, a line, and gets one line back: "ok …", or why not.
//   servers                        where the broker listens
//   topic NAME PARTITIONS          makes a topic
//   down, up                       the broker ends its connections and takes none, until it is up
//   fail REQUEST ERROR TIMES       the next requests of this kind (its number) get the error
// The mock keeps what it has stored in memory; it knows no aborted transactions, and no TLS.
#include <arpa/inet.h>
#include <iostream>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <netinet/in.h>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

/// Number of the request in Kafka's protocol.
constexpr std::int16_t metadata_request = 3;
/// In this version, a client may ask for a topic without making it.
constexpr std::int16_t metadata_version = 4;

std::string done(rd_kafka_resp_err_t code, const std::string& more = {}) {
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return rd_kafka_err2str(code);
  return more.empty() ? "ok" : "ok " + more;
}

std::string answer_to(rd_kafka_mock_cluster_t* cluster, const std::string& order) {
  std::istringstream words(order);
  std::string action;
  std::string name;
  int number = 0;
  words >> action;
  if (action == "servers") {
    return done(RD_KAFKA_RESP_ERR_NO_ERROR, rd_kafka_mock_cluster_bootstraps(cluster));
  }
  if (action == "down") return done(rd_kafka_mock_broker_set_down(cluster, -1));
  if (action == "up") return done(rd_kafka_mock_broker_set_up(cluster, -1));
  if (action == "topic" && words >> name >> number) {
    return done(rd_kafka_mock_topic_create(cluster, name.c_str(), number, 1));
  }
  int request = 0;
  int times = 0;
  if (action == "fail" && words >> request >> number >> times) {
    const std::vector<rd_kafka_resp_err_t> all(static_cast<std::size_t>(times),
                                               static_cast<rd_kafka_resp_err_t>(number));
    rd_kafka_mock_push_request_errors_array(cluster, static_cast<std::int16_t>(request), all.size(),
                                            all.data());
    return done(RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  if (action == "heal" && words >> request) {
    rd_kafka_mock_clear_request_errors(cluster, static_cast<std::int16_t>(request));
    return done(RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  return "no such order: " + order;
}

void serve(int client, rd_kafka_mock_cluster_t* cluster) {
  std::string order;
  for (char next = 0; ::read(client, &next, 1) == 1 && next != '\n';) order += next;
  const auto answer = answer_to(cluster, order) + '\n';
  if (::send(client, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) {
    std::cerr << "nobody takes the answer to " << order << "\n";
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  char why[512]{};
  auto* const host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof why);
  if (host == nullptr) {
    std::cerr << why << "\n";
    return 1;
  }
  auto* const cluster = rd_kafka_mock_cluster_new(host, 1);
  rd_kafka_mock_set_apiversion(cluster, metadata_request, 0, metadata_version);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int enabled = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &enabled, sizeof enabled);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  where.sin_port = htons(static_cast<std::uint16_t>(std::stoi(words[1])));
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 ||
      ::listen(listener, 16) != 0) {
    std::cerr << "can't listen on " << words[1] << "\n";
    return 1;
  }
  while (true) {
    const int client = ::accept(listener, nullptr, nullptr);
    if (client < 0) continue;
    serve(client, cluster);
    ::close(client);
  }
}
