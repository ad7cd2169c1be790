#include <bdc/plugin/export.h>

#include "minimal.h"

BDC_EXPORT_DETECTOR(minimal::Detector);
