#include <iostream>

#include "app/verb.h"
#include "registry/fingerprint.h"

namespace bdc::host {

void add_version(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("version", "Print the version and the ABI fingerprint");
  verb->footer("Example:\n  bdc-host version");
  verb->callback([&action] {
    action = [] {
      std::cout << "bdc-host " << BDC_VERSION << "\n" << Fingerprint::of_host().text() << "\n";
      return 0;
    };
  });
}

}  // namespace bdc::host
