#include "cli/diagnose/machine_findings.hpp"
#include "messaging/broker_kind.hpp"
#include "messaging/delivery_limits.hpp"

namespace onceguard::cli::diagnose {

using base::diagnoses;
using grade = base::diagnosis::grade;

diagnoses examine_consumer(const consume::consume_params& params) {
  const auto name = "[[consume]] " + params.subscriber + ": ";
  messaging::broker_params where;
  where.url = params.queue;
  where.name = params.subscriber;
  const auto found = messaging::examine_queue(where);
  if (!found) {
    return {{grade::fault, "queue", name + found.error().detail,
             "start the broker, make the queue, or correct from"}};
  }
  if (!*found) {
    return {{grade::note,
             "queue",
             name + "a queue of this broker can't be looked at without taking part in it",
             {}}};
  }
  diagnoses out;
  const auto fault = messaging::limit_fault((*found)->traits, params.inbox.attempts,
                                            messaging::sum_of_backoffs(params.inbox));
  if (!fault.empty()) {
    const auto split = fault.find(": ");
    out.push_back(
        {grade::fault, "queue-limits", name + fault.substr(0, split), fault.substr(split + 2)});
  }
  for (const auto& [weakness, remedy] : (*found)->weaknesses) {
    out.push_back({grade::warning, "queue-limits", name + weakness, remedy});
  }
  if (out.empty()) out.push_back({grade::ok, "queue", name + "its queue is there", {}});
  return out;
}

}  // namespace onceguard::cli::diagnose
