// A certificate authority of the tests' own, and what it signs: PEM files, made by openssl.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

struct certificate_files {
  std::string certificate;
  std::string key;
};

class authority {
 public:
  explicit authority(const std::string& name = "tests") {
    run({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "3", "-subj", "/CN=authority of the " + name, "-keyout", path("ca.key"), "-out",
         file()});
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  }

  /// The certificates that are trusted.
  [[nodiscard]] std::string file() const { return folder_.file("ca.pem"); }

  /// `names`: "IP:127.0.0.1,DNS:localhost".
  [[nodiscard]] certificate_files issue(const std::string& name,
                                        const std::string& names = "IP:127.0.0.1,DNS:localhost",
                                        bool expired = false) const {
    certificate_files out{path(name + ".pem"), path(name + ".key")};
    run({"req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-subj", "/CN=" + name, "-keyout", out.key, "-out", path("request")});
    std::ofstream(path("extensions"))
        << "subjectAltName=" << names << "\nextendedKeyUsage=serverAuth,clientAuth\n";
    run({"x509", "-req", "-in", path("request"), "-CA", file(), "-CAkey", path("ca.key"),
         "-CAcreateserial", "-days", expired ? "-1" : "2", "-extfile", path("extensions"), "-out",
         out.certificate});
    // The server's user reads them.
    std::filesystem::permissions(out.key, std::filesystem::perms(0644));
    return out;
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }
  void run(std::vector<std::string> words) const {
    words.insert(words.begin(), "/usr/bin/openssl");
    run_program({}, words, path("log"));
  }

  temporary_folder folder_;
};

}  // namespace onceguard::testing
