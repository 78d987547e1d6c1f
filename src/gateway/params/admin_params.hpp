// The parameters of the admin listener. The configuration fills them in and has checked them.
#pragma once
#include <optional>
#include <string>

#include <onceguard/record.hpp>

#include "base/address.hpp"

namespace onceguard::admin {

struct admin_params {
  bool enabled = false;
  base::server_address address;
  std::string token_file;                    ///< empty: everybody who reaches it is an operator
  bool page = true;                          ///< the web page at "/"
  milliseconds records_interval{60'000};     ///< between two counts of the records; 0: none
  std::optional<base::http_url> prometheus;  ///< has the metrics of more than the last hour
  std::string prometheus_labels;             ///< matchers of PromQL; empty: none
  std::string trace_url;  ///< where people look at a trace, with "{trace_id}"; empty: nowhere
};

}  // namespace onceguard::admin
