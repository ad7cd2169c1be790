#include <iostream>

#include "cli/verb.h"
#include "plugins/fingerprint.h"

namespace bdc::host {

void add_version(Command& program) {
  Command verb = program.add_verb("version", "Print the version and the ABI fingerprint");
  verb.footer("Example:\n  bdc-host version");
  verb.run([] {
    const Fingerprint& own = Fingerprint::of_host();
    std::cout << "bdc-host " << BDC_VERSION << "\n"
              << (own.has_torch() ? own.text() : "for labels only: built without the training engine") << "\n";
    return 0;
  });
}

}  // namespace bdc::host
