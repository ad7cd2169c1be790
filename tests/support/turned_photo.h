#pragma once

#include <filesystem>
#include <string>

#include "support/temporary_folder.h"

namespace bdc::test {

/// The pixels are stored 48 wide and 32 high, a viewer shows 32 by 48. Two people labelled that.
struct TurnedPhoto {
  TurnedPhoto() {
    std::filesystem::create_directories(folder.path() / "photos");
    std::filesystem::copy_file(std::filesystem::path(BDC_TEST_DATA) / "support/data/turned.jpg",
                               folder.path() / "photos/turned.jpg");
    for (const char* who : {"ann", "bob"}) {
      folder.write(std::string("labels/") + who + "/turned.txt", "0 0.5 0.25 0.5 0.25\n");
    }
    folder.write("labels/classes.txt", "thing\n");
  }
  TemporaryFolder folder;
};

}  // namespace bdc::test
