#include "cli/application.h"

int main(int argc, char** argv) {
  return bdc::host::run_application(argc, argv);
}
