// A certificate for servers on this machine, good for some days, signed by itself.
#pragma once
#include <string>

#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class certificate {
 public:
  certificate() {
    run_program({},
                {"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3", "-subj", "/CN=localhost",
                 "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key(), "-out", file()},
                folder_.file("log"));
  }
  [[nodiscard]] std::string file() const { return folder_.file("certificate.pem"); }
  [[nodiscard]] std::string key() const { return folder_.file("key.pem"); }

 private:
  temporary_folder folder_;
};

}  // namespace onceguard::testing
