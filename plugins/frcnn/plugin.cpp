#include <bdc/plugin/export.h>

#include "frcnn/detector.h"

BDC_EXPORT_DETECTOR(frcnn::Detector);
