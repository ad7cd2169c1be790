#include <bdc/plugin/export.h>

#include "eva/detector.h"

BDC_EXPORT_DETECTOR(eva::Detector);
