// A server that answers requests to Amazon SQS as a test says, and keeps the requests.
#pragma once
#include <string>
#include <vector>

#include "support/http_script.hpp"
#include "support/scoped_variable.hpp"

namespace onceguard::testing {

/// What is not scripted: the queue's URL and its attributes to whoever asks for these, and {} to
/// others.
class sqs_script : public http_script {
 public:
  sqs_script() : http_script(usual) {}

  [[nodiscard]] std::string url(const std::string& queue, const std::string& more = {}) const {
    return "sqs://us-east-1/" + queue + "?endpoint=" + endpoint() + more;
  }
  /// Of that action; empty: of all.
  std::vector<std::string> requests(const std::string& action = {}) {
    return http_script::requests("X-Amz-Target: AmazonSQS." + action);
  }

 private:
  static scripted_answer usual(const std::string& request) {
    if (request.find("AmazonSQS.GetQueueUrl") != request.npos) {
      return {200, R"({"QueueUrl":"http://queue"})"};
    }
    if (request.find("AmazonSQS.GetQueueAttributes") != request.npos) {
      return {200, R"({"Attributes":{"VisibilityTimeout":"30","MessageRetentionPeriod":"345600",)"
                   R"("MaximumMessageSize":"1048576","ApproximateNumberOfMessages":"3"}})"};
    }
    return {200, "{}"};
  }
};

}  // namespace onceguard::testing
